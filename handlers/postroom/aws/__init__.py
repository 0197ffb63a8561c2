"""The shell: everything that speaks to AWS or reads the environment, the clock or chance."""
