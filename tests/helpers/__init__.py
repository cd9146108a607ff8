"""What several tests use: literal versions, lists of estimators, faults, old files."""
