"""Speed: ours and others' time on the same data, side by side in one process."""
