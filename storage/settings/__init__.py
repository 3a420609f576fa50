"""Every setting and its default: one frozen section per step or method.

Values come, weakest first, from the defaults, `settings.yaml`, the environment (`CONSPECTUS__CHUNKS__CHUNK_SIZE=400`)
and the caller. Unknown keys are rejected by name.
"""

from conspectus.storage.settings.asking import *  # noqa: F403  (every section class)
from conspectus.storage.settings.base import SettingsSection as SettingsSection
from conspectus.storage.settings.indexing import *  # noqa: F403
from conspectus.storage.settings.loading import ENVIRONMENT_PREFIX as ENVIRONMENT_PREFIX
from conspectus.storage.settings.loading import as_yaml as as_yaml
from conspectus.storage.settings.loading import load_settings as load_settings
from conspectus.storage.settings.loading import parse_override as parse_override
from conspectus.storage.settings.root import INDEX_SECTIONS as INDEX_SECTIONS
from conspectus.storage.settings.root import Settings as Settings
from conspectus.storage.settings.root import TrainGRetrieverSettings as TrainGRetrieverSettings
from conspectus.storage.settings.root import TunedPrompts as TunedPrompts
from conspectus.storage.settings.root import file_of as file_of
from conspectus.storage.settings.root import read_tuned as read_tuned
from conspectus.storage.settings.serving import *  # noqa: F403
