"""An alias of `dcnlab restore`."""

from dcnlab.cli.from_classes.operations import add_alias
from dcnlab.lab.operations.restore import Restore

add_alias("heal", Restore)
