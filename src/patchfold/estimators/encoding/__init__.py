"""The parts of TableEncoder: columns of any table, what is learned of them, numbers."""
