# SPDX-License-Identifier: MIT
"""Trays of seedlings, and what is done to them in a day."""

from __future__ import annotations

import logging
from typing import NamedTuple

log = logging.getLogger(__name__)

MIN_TEMPERATURE = 14.5  # below this no tray is moved outdoors


class TrayProblem(ValueError):
    """Root of everything that is raised here."""


class Overcrowded(TrayProblem):
    """More seeds were sown than the tray has cells."""


class Mouldy(TrayProblem):
    """A white film was seen on the soil."""


class Reading(NamedTuple):
    """One measurement of a probe: when, how warm, how moist."""

    hour: int
    celsius: float
    moisture: float


def thin_out(tray, survivors=2, rng=None):
    """Remove the weaker seedlings of every cell.

    Parameters
    ----------
    tray : Tray
        Is changed in place.
    survivors : int
        Number of plants that stay in a cell.
    rng : Random, optional
        Decides between plants of the same height.

    Raises
    ------
    TrayProblem
        If a cell has fewer plants than that already.
    """


def harden(tray, days=9, *, night=False):
    """Get seedlings used to wind and sun before they are planted out.

    Notes
    -----
    A tray that was frozen on the way starts again with day one.
    """


class Ledger:
    """Append-only record of what was sown on which day.

    Lines older than the limit are moved to a yearly archive.
    """

    def __init__(self, path, limit=730):
        self.path = path
        self.limit = limit
