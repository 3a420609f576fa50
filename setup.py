"""Adds the texts of `conspectus demo` to the package: the examples themselves, so that there is one copy.

Everything else about the package stands in pyproject.toml; a mapping with a computed list of packages cannot. The other
folders are packages of `conspectus` by links in it.
"""

from setuptools import find_packages, setup

EXAMPLES = ("world/pages", "novel")
names = {f"conspectus.examples.{folder.replace('/', '.')}": f"examples/{folder}" for folder in EXAMPLES}

setup(packages=[*find_packages(include=["conspectus", "conspectus.*"]), *names], package_dir={"": "."} | names)
