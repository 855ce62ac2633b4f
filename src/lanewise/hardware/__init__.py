"""Pure models of the hardware, and one data file a device."""
