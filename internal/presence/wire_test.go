package presence

import (
	"bytes"
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/storage"
)

// farPerson is a profile on another node with everything.
func farPerson() *far {
	return &far{
		profile: 7, node: "b", user: 8, invitable: []int{1, 2},
		status: Status{State: Playing, Text: "t", Location: "l", Product: 9, Quiet: 3, Rich: &Rich{HostIP: 1 << 31, QueryPort: 65535, GameMap: "m"}},
		sessions: []farSession{
			{fence: 10, key: -1, client: Client{Peer: netip.MustParseAddrPort("[2001:db8::1]:5"), Game: "g", Since: time.Unix(1, 2).UTC()}},
			{fence: 1 << 62, key: 5},
		},
	}
}

// samples are messages between nodes, with their headers.
func samples() [][]byte {
	h := func(k kind) []byte { return appendHeader(nil, k, 77) }
	p := parcel{id: 5, flags: flagHold, to: 3, event: Message{From: 1, Kind: Text, Text: "hello", Sent: time.Unix(5, 0).UTC()}}
	event, _ := p.appendTo(h(kindEvent))
	return [][]byte{
		event,
		append(h(kindAck), 5, 1),
		appendIDs(h(kindSettled), []uint64{1, 1 << 63}),
		appendIDs(h(kindHeld), []uint64{1, 2}),
	}
}

// parseAny parses a message and writes it again, if its kind is written in one place.
func parseAny(b []byte) (again []byte, err error) {
	k, incarnation, rest, known := parseHeader(b)
	if !known {
		return nil, errWire
	}
	h := appendHeader(nil, k, incarnation)
	switch k {
	case kindEvent:
		m, err := parseParcel(rest)
		if err != nil {
			return nil, err
		}
		again, ok := m.appendTo(h)
		if !ok {
			return nil, errWire
		}
		return again, nil
	default:
	}
	c := cursor{b: rest}
	c.ids(maxWireIDs)
	return b, nil
}

func TestMessagesOfNodes(t *testing.T) {
	for _, want := range samples() {
		got, err := parseAny(want)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("parsed and written again: %x, %v, want %x", got, err, want)
		}
		if got, err := parseAny(append(bytes.Clone(want), "of a later version"...)); want[1] < byte(kindAck) && (err != nil || !bytes.Equal(got, want)) {
			t.Errorf("with more bytes: %x, %v, want %x", got, err, want)
		}
		for i := range want {
			if kind(want[1]) == kindEvent {
				if _, err := parseAny(want[:i]); err == nil {
					t.Errorf("the first %d of %d bytes were accepted", i, len(want))
				}
			}
		}
	}
}

func TestLimitsOfMessagesOfNodes(t *testing.T) {
	long := strings.Repeat("x", maxWireText+1)
	b := (&far{profile: 1, user: 1, status: Status{Text: long, Rich: &Rich{Text: long}}, sessions: make([]farSession, maxFarSessions+1)}).appendTo(nil)
	f, err := parseFar("b", 1, b)
	if err != nil || len(f.status.Text) != maxWireText || len(f.status.Rich.Text) != maxWireText || len(f.sessions) != maxFarSessions {
		t.Errorf("a person over the limits is not cut: %v", err)
	}
	for n, want := range map[int]bool{storage.MaxMessageText: true, storage.MaxMessageText + 1: false} {
		p := parcel{to: 1, event: Message{From: 1, Text: strings.Repeat("x", n)}}
		if b, ok := p.appendTo(nil); ok != want {
			t.Errorf("a text of %d bytes is sent: %v, want %v", n, ok, want)
		} else if _, err := parseParcel(b); (err == nil) != want {
			t.Errorf("a text of %d bytes is accepted: %v, want %v", n, err, want)
		}
	}
	for n, want := range map[int]bool{maxWireIDs: true, maxWireIDs + 1: false} {
		c := cursor{b: appendIDs(nil, make([]uint64, n))}
		if c.ids(maxWireIDs); c.bad == want {
			t.Errorf("%d ids are accepted: %v, want %v", n, !c.bad, want)
		}
	}
	if _, ok := (&parcel{to: 1, event: StatusChanged{}}).appendTo(nil); ok {
		t.Error("a status crosses nodes as an event")
	}
}

func TestPlayersOfNodes(t *testing.T) {
	want := farPerson()
	b := want.appendTo(nil)
	for _, more := range []string{"", "of a later version"} {
		got, err := parseFar("b", 7, append(bytes.Clone(b), more...))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(far{}, farSession{}), cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); err != nil || diff != "" {
			t.Errorf("parsed with %q more: %v (-want +got):\n%s", more, err, diff)
		}
	}
	for i := range b {
		if _, err := parseFar("b", 7, b[:i]); err == nil {
			t.Errorf("the first %d of %d bytes were accepted", i, len(b))
		}
	}
	said := note{flagTold, []storage.ProfileID{1, 1 << 30}, []uint64{1 << 60, 2}}
	b = said.append()
	if got, err := parseNote(b); err != nil || !reflect.DeepEqual(got, said) {
		t.Errorf("a note is read as %+v, %v", got, err)
	}
	for i := 1; i < len(b); i++ {
		if _, err := parseNote(b[:i]); err == nil {
			t.Errorf("the first %d of %d bytes of a note were accepted", i, len(b))
		}
	}
	if (note{}).append() != nil {
		t.Error("an empty note has bytes")
	}
}

func TestReasonsOfEnds(t *testing.T) {
	for number, want := range map[byte]error{0: ErrKicked, 200: ErrKicked, numberOf(ErrBanned): ErrBanned} {
		if got := reasonOf(number); !errors.Is(got, want) {
			t.Errorf("reasonOf(%d) = %v, want %v", number, got, want)
		}
	}
	if got := numberOf(errWire); got != 4 {
		t.Errorf("numberOf(errWire) = %d, want 4", got)
	}
}

func FuzzMessageOfNode(f *testing.F) {
	for _, b := range samples() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = parseNote(b)
		if p, err := parseFar("b", 7, b); err == nil {
			again := p.appendTo(nil)
			if third, err := parseFar("b", 7, again); err != nil || !bytes.Equal(third.appendTo(nil), again) {
				t.Errorf("%x is written as %x, and not read again: %v", b, again, err)
			}
		}
		again, err := parseAny(b)
		if err != nil {
			return
		}
		third, err := parseAny(again)
		if err != nil || !bytes.Equal(again, third) {
			t.Errorf("%x is written as %x, and that as %x, %v", b, again, third, err)
		}
	})
}
