"""Maps the folders of the repository into one import name: `storage/` is installed as `conspectus.storage`, and so on.

Everything else about the package stands in pyproject.toml; a mapping with a computed list of packages cannot.
"""

from setuptools import find_packages, setup

FOLDERS = ("storage", "prompts", "query", "pipelines")

packages = find_packages(include=["conspectus", "conspectus.*"])
for folder in FOLDERS:
    packages += [f"conspectus.{package}" for package in find_packages(include=[folder, f"{folder}.*"])]

setup(
    packages=packages,
    package_dir={"conspectus": "conspectus"} | {f"conspectus.{folder}": folder for folder in FOLDERS},
)
