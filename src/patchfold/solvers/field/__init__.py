"""The parts of CauchyMap: order, start, attraction, repulsion, descent, new samples."""
