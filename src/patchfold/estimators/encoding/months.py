"""Names of months in some languages -> the three letters that pandas reads."""

from __future__ import annotations

NAMES = {
    "jan": "january januar janvier enero gennaio janeiro januari jänner janv ene",
    "feb": "february februar février febrero febbraio fevereiro februari févr fév",
    "mar": "march märz mars marzo março maart mär mrz",
    "apr": "april avril abril aprile avr abr",
    "may": "may mai mayo maggio maio mei",
    "jun": "june juni juin junio giugno junho",
    "jul": "july juli juillet julio luglio julho juil",
    "aug": "august août agosto augustus aout",
    "sep": "september septembre septiembre settembre setembro sept",
    "oct": "october oktober octobre octubre ottobre outubro okt",
    "nov": "november novembre noviembre novembro",
    "dec": "december dezember décembre diciembre dicembre dezembro dez déc",
}
"""English, German, French, Spanish, Italian, Portuguese and Dutch."""

MONTHS = {
    name: short.title()
    for short, names in NAMES.items()
    for name in sorted([short, *names.split()], key=len, reverse=True)
}
"""The three letters of every name, in lower case; longer names come first."""
