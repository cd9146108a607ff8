"""Where arrays live and loops run: devices, threads, memory, files, loops in C."""
