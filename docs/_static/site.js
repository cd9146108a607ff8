// What the keyboard and screen readers need and the theme leaves out.
addEventListener("DOMContentLoaded", () => {
  const all = (selector) => document.querySelectorAll(selector);
  all("p.caption[role=heading]").forEach((title) => title.setAttribute("aria-level", "2"));
  all("aside.sidebar-drawer").forEach((part) => part.setAttribute("aria-label", "Pages"));
  all("aside.toc-drawer").forEach((part) => part.setAttribute("aria-label", "On this page"));
  all("th").forEach((head) => {
    if (head.textContent.trim() === "") head.outerHTML = "<td></td>";
  });
  all(".sphx-glr-thumbcontainer a").forEach((link) => link.setAttribute("aria-label", link.textContent));
  const reach = () => all("article table.docutils, article pre, div.math, .wide").forEach((part) => {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  });
  reach();
  addEventListener("resize", reach);
});
