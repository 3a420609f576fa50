"""Indexes in object stores: immutable versions there, checked copies here."""
