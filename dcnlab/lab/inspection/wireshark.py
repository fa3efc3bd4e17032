"""A Wireshark dissector of what a lab's frames carry, generated: ``dcnlab dissector > dcnlab.lua``.

It names the fields of the control frames of all agent protocols, AACM's in
:mod:`dcnlab.lab.autoconfig.dissector`; a protocol whose fields it does not know is shown as bytes.  It shows
the label in the destination MAC address, and the tag in the source, of every frame that has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from addressing.fields import mac
from addressing.header import Field as HeaderField
from addressing.scheme import Scheme
from dcnlab.lab.autoconfig import dissector as aacm
from hostagent import registry
from hostagent.protocols.aacm.frames import ETHERTYPE as AACM_ETHERTYPE


@dataclass(frozen=True)
class Number:
    """A field of so many bytes."""

    name: str
    title: str
    size: int


@dataclass(frozen=True)
class Numbers:
    """A count of ``count_size`` bytes, and as many numbers of ``size`` bytes."""

    name: str
    title: str
    count_size: int
    size: int


@dataclass(frozen=True)
class Bits:
    """A count of bits (two bytes), and the bytes that hold them."""

    name: str
    title: str


Part = Number | Numbers | Bits

#: The fields of protocols by name, in order, up to the tag; tests compare the sizes with the codecs.
LAYOUTS: Mapping[str, tuple[Part, ...]] = {
    "link-state": (
        Number("kind", "Kind (1 advertise, 2 acknowledge)", 1),
        Number("sender", "Sender", 4),
        Number("generation", "How often the sender was started again", 4),
        Number("origin", "Origin", 4),
        Number("number", "Sequence number", 8),
        Numbers("port", "Port that is down", 1, 2),
    ),
    "probing": (
        Number("kind", "Kind (1 probe, 2 passed, 3 arrived)", 1),
        Number("serial", "Serial number", 4),
        Number("reached", "Position reached", 1),
        Number("position", "Position on the path", 1),
        Numbers("server", "Server of the path", 1, 4),
    ),
    "labelling": (
        Number("flags", "Flags (1 parent, 2 advertises, 4 labelled)", 1),
        Number("port", "Sender's port", 1),
        Number("epoch", "Epoch", 4),
        Number("sequence", "Sequence number", 2),
        Number("received", "Last sequence number received", 2),
        Number("root", "Rank of the root", 4),
        Number("letter", "Letter for the receiver", 2),
        Number("width", "Bits of a letter", 1),
        Numbers("path_vector", "Path vector", 2, 2),
        Numbers("word", "Letter of the label", 2, 2),
        Bits("prefix", "Prefix"),
    ),
}

_DISSECT = """
local function dcn_frame(proto, buffer, info, root, parts, ending)
  info.cols.protocol = proto.name
  local tree, at = root:add(proto, buffer()), 0
  for _, part in ipairs(parts) do
    if part.kind == "number" then
      tree:add(part.field, buffer(at, part.size)); at = at + part.size
    elseif part.kind == "numbers" then
      local count = buffer(at, part.count_size):uint(); at = at + part.count_size
      for _ = 1, count do tree:add(part.field, buffer(at, part.size)); at = at + part.size end
    elseif part.kind == "bits" then
      local size = math.ceil(buffer(at, 2):uint() / 8); at = at + 2
      if size > 0 then tree:add(part.field, buffer(at, size)); at = at + size end
    end
  end
  if #parts == 0 then tree:add(ending.data, buffer()); return end
  local tag = buffer(at, 1):uint(); at = at + 1
  if tag > 0 then tree:add(ending.tag, buffer(at, tag)); at = at + tag end
  tree:add(ending.checksum, buffer(at, 4))
end
"""

_LABEL = """
local dcnlabel = Proto("dcnlabel", "dcnlab label")
local dcn_label = ProtoField.string("dcnlabel.destination", "Label of the destination")
local dcn_node = ProtoField.string("dcnlabel.destination.node", "Server with this label")
local dcn_tag = ProtoField.string("dcnlabel.tag", "Tag (route) in the source address")
dcnlabel.fields = {dcn_label, dcn_node, dcn_tag}
local eth_dst, eth_src = Field.new("eth.dst"), Field.new("eth.src")

local function dcn_bits(range, length)
  -- The 46 free bits of a locally administered unicast address, the first `length` of them.
  if math.floor(range(0, 1):uint()) % 4 ~= 2 then return nil end
  local bits = ""
  for byte = 0, 5 do
    local value = range(byte, 1):uint()
    for bit = 7, (byte == 0 and 2 or 0), -1 do bits = bits .. math.floor(value / 2 ^ bit) % 2 end
  end
  return bits:gsub("%.0", ""):sub(1, length)
end

function dcnlabel.dissector(buffer, info, root)
  local destination, source = eth_dst(), eth_src()
  if not destination then return end
  local label = dcn_bits(destination.range, label_bits)
  if not label then return end
  local tree = root:add(dcnlabel, destination.range, "Label " .. label)
  tree:add(dcn_label, destination.range, label)
  local node = label_nodes[tostring(destination.value)]
  if node then tree:add(dcn_node, destination.range, node) end
  local tag = source and dcn_bits(source.range, tag_bits)
  if tag and tag ~= "" then tree:add(dcn_tag, source.range, tag) end
end
register_postdissector(dcnlabel)
"""


def lua(topology: str = "", scheme: str = "") -> str:
    """The dissector's source; with a topology and a scheme it knows the length of labels and whose they are."""
    from dcnlab.lab.options.config import resolve

    bound = resolve(topology, scheme)[1] if topology else None
    return "".join([aacm.lua(), _DISSECT, *_protocols(), *_labels(bound)])


def _protocols() -> Iterable[str]:
    """One dissector per control protocol other than AACM."""
    for name, protocol in sorted(registry.known().items()):
        if protocol.ethertype != AACM_ETHERTYPE:
            yield _protocol(
                f"dcn_{name.replace('-', '')}", protocol.title, protocol.ethertype, LAYOUTS.get(name, ())
            )


def _protocol(name: str, title: str, ethertype: int, parts: tuple[Part, ...]) -> str:
    declared = "".join(
        f'  {{kind = "{type(part).__name__.lower()}", field = {_field(name, part)}{_sizes(part)}}},\n'
        for part in parts
    )
    ending = {"data": ("bytes", "Data"), "tag": ("bytes", "Tag"), "checksum": ("uint32", "CRC-32")}
    ends = ", ".join(
        f'{key} = ProtoField.{kind}("{name}.{key}", "{text}"{", base.HEX" if kind == "uint32" else ""})'
        for key, (kind, text) in ending.items()
    )
    return f"""
do
  local proto = Proto("{name}", "dcnlab {title}")
  local parts = {{
{declared}  }}
  local ending = {{{ends}}}
  proto.fields = {{ending.data, ending.tag, ending.checksum}}
  for _, part in ipairs(parts) do table.insert(proto.fields, part.field) end
  function proto.dissector(buffer, info, root) dcn_frame(proto, buffer, info, root, parts, ending) end
  DissectorTable.get("ethertype"):add(0x{ethertype:04X}, proto)
end
"""


def _field(protocol: str, part: Part) -> str:
    kind = "bytes" if isinstance(part, Bits) else f"uint{8 * part.size}"
    return f'ProtoField.{kind}("{protocol}.{part.name}", "{part.title}")'


def _sizes(part: Part) -> str:
    match part:
        case Number(size=size):
            return f", size = {size}"
        case Numbers(count_size=count_size, size=size):
            return f", count_size = {count_size}, size = {size}"
    return ""


def _labels(scheme: Scheme | None) -> Iterable[str]:
    """The dissector of labels; without a scheme it shows all bits, and knows no names."""
    if scheme is not None and scheme.label_field is not HeaderField.ETH_DST:
        return
    yield f"local label_bits, tag_bits = {mac.BITS if scheme is None else scheme.label_bits}, "
    yield f"{mac.BITS if scheme is None else scheme.tag_bits}\nlocal label_nodes = {{}}\n"
    if scheme is not None:
        for server in range(scheme.fabric.servers):
            address = mac.text(mac.encode(scheme.label(server), scheme.label_bits))
            yield f'label_nodes["{address}"] = "{scheme.fabric.name(server)}"\n'
    yield _LABEL
