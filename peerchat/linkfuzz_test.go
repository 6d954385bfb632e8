package peerchat

import (
	"bytes"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

// sampleEvents returns one event of each kind, with all fields that it has.
func sampleEvents() []event {
	id := userID{"node1", 77}
	info := userInfo{
		id: id, nick: "Ann", field: "X1lsaFvqsX|1", realName: "Ann B", host: "192.0.2.1", mask: "abc.masked", game: "gmtest", former: []string{"Old"}, away: "brb",
		peer: netip.MustParseAddrPort("192.0.2.1:5"), account: 3, profile: 4, since: time.Unix(1, 5),
	}
	by := author{id, "Ann", "Ann!a@192.0.2.1", "Ann!a@abc.masked"}
	keys := []keyPair{{"b_flags", "sh"}, {"k", "\xff"}}
	var all []event
	for kind := evHello; kind < lastEvent; kind++ {
		e := event{kind: kind}
		switch kind {
		case evEnter:
			e.info, e.keys = info, keys
		case evLeave, evNick, evKeys, evLines, evClose, evAway:
			e.who.serial, e.text = 9, "text\r\n"
		case evCommand:
			e.request, e.who.serial, e.word, e.params = 5, 9, "JOIN", []string{"#a", ""}
		case evDone:
			e.request, e.status, e.text = 5, statusBusy, "x"
		case evOut:
			e.channel, e.who, e.text = "#a", id, "x"
		case evHello, evBegin, evEnd:
		default:
			e.channel, e.rev, e.actor, e.request = "#Room", 12, id, 6
		}
		switch kind {
		case evJoin:
			e.info, e.rank, e.since, e.word = info, rank{true, false, true}, time.Unix(2, 0), "#room"
		case evMember:
			e.info, e.rank, e.since, e.word, e.keys = info, rank{false, true, false}, time.Unix(2, 0), "#ROOM", keys
		case evPart, evGone, evMemberKeys:
			e.who, e.text = id, `\k\v`
		case evKick:
			e.who, e.by, e.text = id, by, "out"
		case evModes:
			e.who, e.by, e.changes = id, by, []linkedChange{{modeChange{true, 'o', "Ann"}, id}, {modeChange{false, 'l', ""}, userID{}}}
		case evTopic:
			e.by, e.text = by, "topic"
		case evChannelKeys:
			e.word, e.text = "k", "v"
		case evMessage:
			e.by, e.word, e.text = by, "UTM", "a b"
		case evChannel:
			e.state = channelState{
				since: time.Unix(3, 0), topic: "t", flags: 3, key: "k", limit: 4, keys: keys, owned: true,
				bans: []ban{{"*!*@192.0.2.1", "Ann", time.Unix(4, 0)}},
			}
		default:
		}
		all = append(all, e)
	}
	return all
}

func TestEventsAreReadAsTheyAreWritten(t *testing.T) {
	var message []byte
	want := sampleEvents()
	for i := range want {
		b, ok := appendEvent(message, &want[i])
		if !ok {
			t.Fatalf("event of kind %d is not written", want[i].kind)
		}
		message = b
	}
	n := 0
	if !parseEvents(message, func(e *event) {
		if !reflect.DeepEqual(*e, want[n]) {
			t.Errorf("kind %d is read as\n%+v\nwant\n%+v", want[n].kind, *e, want[n])
		}
		n++
	}) || n != len(want) {
		t.Errorf("%d events are read of %d", n, len(want))
	}
	for cut := range len(message) { // no part of it is read beyond its end
		parseEvents(message[:cut], func(*event) {})
	}
	for i, b := range [][]byte{nil, {}, {linkVersion - 1}, {linkVersion, 0}, {linkVersion, byte(lastEvent)}, {linkVersion, byte(evLeave), 1, 200}} {
		if parseEvents(b, func(*event) {}) {
			t.Errorf("malformed message %d is read", i)
		}
	}
}

// TestEventsAtTheirBounds: one byte more is neither written nor read.
func TestEventsAtTheirBounds(t *testing.T) {
	e := event{kind: evLeave, text: strings.Repeat("x", maxReply)}
	b, ok := appendEvent(nil, &e)
	if !ok || !parseEvents(b, func(*event) {}) {
		t.Error("the longest text is refused")
	}
	e.text += "x"
	if left, ok := appendEvent([]byte{linkVersion}, &e); ok || !bytes.Equal(left, []byte{linkVersion}) {
		t.Errorf("a longer text is written, or %d bytes are left", len(left))
	}
}

func FuzzEvents(f *testing.F) {
	var all []byte
	for _, e := range sampleEvents() {
		one, _ := appendEvent(nil, &e)
		f.Add(one)
		all, _ = appendEvent(all, &e)
	}
	f.Add(all)
	f.Fuzz(func(t *testing.T, b []byte) {
		parseEvents(b, func(e *event) {
			again, ok := appendEvent(nil, e)
			if !ok {
				t.Fatalf("what was read is not written: %+v", *e)
			}
			if !parseEvents(again, func(read *event) {
				if !reflect.DeepEqual(read, e) {
					t.Fatalf("read again as %+v, want %+v", *read, *e)
				}
			}) {
				t.Fatalf("what was written is not read: %+v", *e)
			}
		})
	})
}

// FuzzLinks feeds a node the messages of another one: none breaks its hall.
func FuzzLinks(f *testing.F) {
	var all []byte
	for _, e := range sampleEvents() {
		one, _ := appendEvent(nil, &e)
		f.Add(one)
		all, _ = appendEvent(all, &e)
	}
	f.Add(all)
	opt := build(f, func(o *Options) { o.Cluster = &oneBus{} }).server.opt
	f.Fuzz(func(t *testing.T, b []byte) {
		s := New(opt)
		l := s.hall.links
		l.locked(func() { l.look(time.Now()) })
		for range 2 {
			l.receive("node1", b)
		}
		l.locked(func() { l.lose("node1") })
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
