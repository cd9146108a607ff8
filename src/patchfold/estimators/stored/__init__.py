"""Fitted estimators in files: what is written, checked and made again."""
