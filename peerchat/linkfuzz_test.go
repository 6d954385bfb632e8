package peerchat

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

// sampleEvents returns one event of each kind, with all fields.
func sampleEvents() []event {
	id := userID{"node1", 77}
	var all []event
	for kind := evPart; kind < lastEvent; kind++ {
		e := event{
			kind: kind, channel: "#Room", actor: id, request: 6, who: id, word: "UTM", text: "a\xff\r\n",
			by:      author{id, "Ann", "Ann!a@192.0.2.1", "Ann!a@abc.masked"},
			changes: []linkedChange{{modeChange{true, 'o', "Ann"}, id}, {modeChange{false, 'l', ""}, userID{}}},
		}
		if kind == evGone {
			e.channel = ""
		}
		all = append(all, e)
	}
	return all
}

// sampleEntries returns one entry of each kind, of node1, with all fields.
func sampleEntries() map[linkKey]linkValue {
	id := userID{"node1", 77}
	keys := []keyPair{{"b_flags", "sh"}, {"k", "\xff"}}
	in := membership{name: "#Room", as: "#ROOM", op: true, owner: true, since: time.Unix(2, 0), keys: keys}
	return map[linkKey]linkValue{
		{user: id}: &userState{
			id: id, nick: "Ann", field: "X1lsaFvqsX|1", realName: "Ann B", host: "192.0.2.1", mask: "abc.masked", game: "gmtest",
			former: []string{"Old"}, away: "brb", peer: netip.MustParseAddrPort("192.0.2.1:5"), account: 3, profile: 4,
			since: time.Unix(1, 5), keys: keys, joined: []claim{{in, 3}},
		},
		{channel: "#room"}: &channelState{
			name: "#Room", rev: 5, epoch: 6, since: time.Unix(3, 0), topic: "t", flags: 3, key: "k", limit: 4, keys: keys,
			bans: []ban{{"*!*@192.0.2.1", "Ann", time.Unix(4, 0)}}, node: "node1",
		},
		{"#room", id}: &memberState{in, 9, "node1"},
	}
}

func TestEventsAreReadAsTheyAreWritten(t *testing.T) {
	for _, want := range sampleEvents() {
		b, ok := appendEvent(nil, &want)
		if !ok {
			t.Fatalf("event of kind %d is not written", want.kind)
		}
		if got, ok := parseEvent(b); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("kind %d is read as\n%+v\nwant\n%+v", want.kind, got, want)
		}
		for cut := range len(b) {
			if _, ok := parseEvent(b[:cut]); ok {
				t.Errorf("%d bytes of an event of kind %d are read", cut, want.kind)
			}
		}
	}
	for i, b := range [][]byte{nil, {}, {linkVersion - 1}, {linkVersion, 0}, {linkVersion, byte(lastEvent)}, {linkVersion, byte(evLeave), 200}} {
		if _, ok := parseEvent(b); ok {
			t.Errorf("malformed event %d is read", i)
		}
	}
}

func TestEntriesAreReadAsTheyAreWritten(t *testing.T) {
	for k, want := range sampleEntries() {
		if got, err := linkCodec.ParseKey(linkCodec.AppendKey(nil, k)); err != nil || got != k {
			t.Errorf("key %v is read as %v, %v", k, got, err)
		}
		b := linkCodec.AppendValue(nil, want)
		if got, err := linkCodec.ParseValue("node1", k, b); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v is read as\n%+v, %v\nwant\n%+v", k, got, err, want)
		}
		for cut := range len(b) {
			if _, err := linkCodec.ParseValue("node1", k, b[:cut]); err == nil {
				t.Errorf("%d bytes of %v are read", cut, k)
			}
		}
	}
	if _, err := linkCodec.ParseValue("node2", linkKey{user: userID{"node1", 77}}, nil); err == nil {
		t.Error("a user of another node than its own is read")
	}
}

// TestEventsAtTheirBounds: one byte more is neither written nor read.
func TestEventsAtTheirBounds(t *testing.T) {
	e := event{kind: evLeave, text: strings.Repeat("x", maxReply)}
	b, ok := appendEvent(nil, &e)
	if _, read := parseEvent(b); !ok || !read {
		t.Error("the longest text is refused")
	}
	e.text += "x"
	if _, ok := appendEvent(nil, &e); ok {
		t.Error("a longer text is written")
	}
}

func FuzzEvents(f *testing.F) {
	for _, e := range sampleEvents() {
		one, _ := appendEvent(nil, &e)
		f.Add(one)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, ok := parseEvent(b)
		if !ok {
			return
		}
		again, ok := appendEvent(nil, &e)
		if !ok {
			t.Fatalf("what was read is not written: %+v", e)
		}
		if read, ok := parseEvent(again); !ok || !reflect.DeepEqual(read, e) {
			t.Fatalf("read again as %+v, want %+v", read, e)
		}
	})
}

// FuzzLinks feeds a node changes of another one: none breaks its hall.
func FuzzLinks(f *testing.F) {
	for _, e := range sampleEvents() {
		note, _ := appendEvent(nil, &e)
		for k, v := range sampleEntries() {
			f.Add(linkCodec.AppendKey(nil, k), linkCodec.AppendValue(nil, v), note, true)
		}
	}
	opt := build(f, func(o *Options) { o.Cluster = &oneBus{} }).server.opt
	f.Fuzz(func(t *testing.T, key, value, note []byte, removed bool) {
		s := New(opt)
		l := s.hall.links
		l.live["node1"], l.chats = &liveNode{1, time.Now(), true}, []string{"node0", "node1"}
		feed := func(key, value, note []byte, removed, gone bool) {
			c := linkChange{Node: "node1", Removed: removed || gone, Gone: gone, Note: note}
			var err error
			if c.Key, err = linkCodec.ParseKey(key); err != nil {
				return
			}
			if !c.Removed {
				if c.Value, err = linkCodec.ParseValue("node1", c.Key, value); err != nil {
					return
				}
			}
			l.apply(c)
		}
		for k, v := range sampleEntries() {
			feed(linkCodec.AppendKey(nil, k), linkCodec.AppendValue(nil, v), nil, false, false)
		}
		for range 2 {
			feed(key, value, note, false, false)
			l.locked(l.merge)
		}
		feed(key, value, note, removed, false)
		l.receive("node1", note)
		for _, u := range l.users {
			feed(linkCodec.AppendKey(nil, linkKey{user: l.id(u)}), nil, nil, true, true)
		}
		if n := len(s.hall.nicks) + len(l.users); n > 0 {
			t.Errorf("%d users are left of a node that is lost", n)
		}
		for key, c := range s.hall.channels {
			if len(c.members) > 0 {
				t.Errorf("channel %q has members", key)
			}
		}
	})
}
