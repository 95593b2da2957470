"""Models of measured quantities: what forms a belief of measurements."""

from surefoot.models.model import Model

__all__ = ["Model"]
