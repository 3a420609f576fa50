"""Maps the folders of the repository into one import name: `storage/` is installed as `conspectus.storage`, and so on.

Everything else about the package stands in pyproject.toml; a mapping with a computed list of packages cannot.
"""

from setuptools import find_packages, setup

FOLDERS = ("storage", "prompts", "query", "pipelines")

packages = find_packages(include=["conspectus", "conspectus.*"])
for folder in FOLDERS:
    packages += [f"conspectus.{package}" for package in find_packages(include=[folder, f"{folder}.*"])]

# The texts of `conspectus demo`: the examples themselves, so that there is one copy.
EXAMPLES = ("world/pages", "novel")
packages += [f"conspectus.examples.{folder.replace('/', '.')}" for folder in EXAMPLES]

setup(
    packages=packages,
    package_dir={"conspectus": "conspectus"}
    | {f"conspectus.{folder}": folder for folder in FOLDERS}
    | {f"conspectus.examples.{folder.replace('/', '.')}": f"examples/{folder}" for folder in EXAMPLES},
)
