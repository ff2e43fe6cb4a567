"""Reads a file of `instr export --format perfetto` with Perfetto's own message classes (PyPI: perfetto) and says what is in
it."""

import collections
import sys

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent


def slices(trace):
    """The calls, checked: every name is known, every end has its begin, and no time goes back."""
    tracks = {packet.track_descriptor.uuid for packet in trace.packet if packet.HasField("track_descriptor")}
    names = collections.defaultdict(dict)
    default_track, last = {}, collections.Counter()
    open_calls = collections.defaultdict(list)
    done = []
    for packet in trace.packet:
        sequence = packet.trusted_packet_sequence_id
        if packet.HasField("trace_packet_defaults"):
            default_track[sequence] = packet.trace_packet_defaults.track_event_defaults.track_uuid
        for name in packet.interned_data.event_names:
            names[sequence][name.iid] = name.name
        if not packet.HasField("track_event"):
            continue
        track = default_track[sequence]
        assert track in tracks and last[track] <= packet.timestamp, packet
        last[track] = packet.timestamp
        if packet.track_event.type == TrackEvent.TYPE_SLICE_BEGIN:
            open_calls[track].append((packet.timestamp, names[sequence][packet.track_event.name_iid]))
        else:
            begin, name = open_calls[track].pop()
            done.append((name, packet.timestamp - begin))
    assert not any(open_calls.values())
    return done, len(tracks) - 1


trace = Trace()
with open(sys.argv[1], "rb") as file:
    trace.ParseFromString(file.read())
calls, threads = slices(trace)
print(f"slices {len(calls)} threads {threads} nanoseconds {sum(duration for _, duration in calls)}")
