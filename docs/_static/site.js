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
  // Sphinx gives references a role that is deprecated and that a list must not hold.
  all(".citation-list > .citation").forEach((entry) => entry.setAttribute("role", "listitem"));
  const reach = () => all("article table.docutils, article pre, div.math, .wide").forEach((part) => {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  });
  // A picture of several panels scrolls on a phone: its text stays large enough to read.
  const widen = (picture) => {
    if (picture.naturalWidth < 1.8 * picture.naturalHeight) return;
    const box = document.createElement("div");
    box.className = "wide";
    picture.replaceWith(box);
    box.append(picture);
    reach();
  };
  all("article img:not(.wide img, .cards img, .sphx-glr-thumbcontainer img)").forEach((picture) => {
    if (picture.complete) widen(picture);
    else picture.addEventListener("load", () => widen(picture), { once: true });
  });
  reach();
  addEventListener("resize", reach);
});
