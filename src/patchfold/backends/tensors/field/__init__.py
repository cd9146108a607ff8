"""The parts of CauchyMap for tensors on a device."""
