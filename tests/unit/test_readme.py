"""The README's example is the one that a test performs."""

from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_example_in_the_readme_is_the_file_that_is_tested() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    example = (ROOT / "docs/examples/queue_fraud.py").read_text(encoding="utf-8").rstrip()

    assert f"```python\n{example}\n```" in readme
