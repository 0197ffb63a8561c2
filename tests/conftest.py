"""For every test: an example of hypothesis may take as long as a busy machine makes it."""

from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
