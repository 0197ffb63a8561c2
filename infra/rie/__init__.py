"""The built functions under AWS's own Runtime Interface Emulator, on the Python that the template names."""
