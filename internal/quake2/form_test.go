package quake2

import (
	"encoding/hex"
	"net/netip"
	"slices"
	"testing"
)

// The messages of clients of all forms, and their kinds.
func TestForms(t *testing.T) {
	type message struct {
		text string
		kind Kind
	}
	beat := []byte("\\a\\b\n")
	for form, list := range map[Form][]message{
		Two: {{prefix + "ping", KindPing}, {prefix + "heartbeat\n\\a\\b\n", KindHeartbeat}, {prefix + "shutdown", KindShutdown}, {"query", KindQuery}},
		World: {
			{"k\x00", KindPing},
			{"k\n", KindPing},
			{"a\n1\n0\n", KindHeartbeat},
			{"a\n12\n3\n", KindHeartbeat},
			{"a\n1\n0\nnonce\n", KindHeartbeat},
			{"a\n1\n0", KindHeartbeat},
			{"C\n", KindShutdown},
			{"C\n\x00", KindShutdown},
			{"c", KindQuery},
			{"c\n", KindQuery},
			{"c\n\x00", KindQuery},
		},
		Hexen: {{"\xffk\x00", KindPing}, {"\xffa\n1\n0\n", KindHeartbeat}, {"\xffC\n\x00", KindShutdown}, {"\xffc\x00", KindQuery}, {"\x00y", KindQuery}},
	} {
		for _, m := range list {
			if k, _, ok := form.Cut([]byte(m.text)); k != m.kind || !ok {
				t.Errorf("form %d: %q is of kind %d, %v; want %d", form, m.text, k, ok, m.kind)
			}
		}
		for kind, b := range map[Kind][]byte{KindPing: form.AppendPing(nil), KindHeartbeat: form.AppendHeartbeat(nil, beat), KindShutdown: form.AppendShutdown(nil), KindQuery: form.AppendQuery(nil)} {
			if k, _, ok := form.Cut(b); k != kind || !ok {
				t.Errorf("form %d: %q is of kind %d, %v; want %d", form, b, k, ok, kind)
			}
		}
	}
	for _, text := range []string{
		"", "k", "C", "a", "a\n", "a\n1", "a\n1\n", "a\n\n0\n", "a\n1\nx\n", "a\n1\n0x", "ab", "cc", "x\n", "\n", "\x00", "\xffc", "a\n1\n0\n" + string(make([]byte, MaxBeat)),
	} {
		if k, _, ok := World.Cut([]byte(text)); ok {
			t.Errorf("%q is of kind %d", text, k)
		}
	}
}

// What a real master of HexenWorld was sent, and answered.
func TestRecordedHexen(t *testing.T) {
	kinds := []Kind{KindHeartbeat, KindQuery, KindQuery, KindShutdown, KindQuery}
	for i, x := range recorded(t)["hexen_master"] {
		if k, _, ok := Hexen.Cut(bytesOf(t, x.Ask)); k != kinds[i] || !ok {
			t.Errorf("%s is of kind %d, %v; want %d", x.Ask, k, ok, kinds[i])
		}
		if kinds[i] != KindQuery {
			continue
		}
		list, ok, err := Hexen.ParseList(nil, bytesOf(t, x.Reply))
		packets := Hexen.AppendLists(nil, list)
		if !ok || err != nil || len(packets) != 1 || hex.EncodeToString(packets[0]) != x.Reply {
			t.Errorf("%s: list %v, %v, made %x", x.Reply, list, err, packets)
		}
	}
}

// A status of any form is read as that of its own.
func TestStatusOfForms(t *testing.T) {
	for form, want := range map[Form]string{World: "quakeworld", Hexen: "hexenworld"} {
		b := form.AppendStatus(nil, []byte("\\hostname\\The Inn\\map\\dm6\n1 2 3 40 \"Ann\" \"base\" 0 0\n"))
		s, ok, err := form.ParseStatus(b)
		if !ok || err != nil || s.WorldGame() != want || s.Get("hostname") != "The Inn" || len(s.Players) != 1 {
			t.Errorf("form %d: %+v, %v, %v, game %s", form, s, ok, err, s.WorldGame())
		}
		if !form.AsksStatus(form.AppendAskStatus(nil)) || form.AsksStatus(b) {
			t.Errorf("form %d: a request for the status is not one", form)
		}
	}
	s, ok, err := Two.ParseStatus(Two.AppendStatus(nil, []byte("\\hostname\\The Inn\n")))
	if !ok || err != nil || s.Get("hostname") != "The Inn" {
		t.Errorf("%+v, %v, %v", s, ok, err)
	}
	if _, ok, _ := Two.ParseStatus([]byte(prefix + "ack")); ok {
		t.Error("an ack is a status")
	}
}

// A long list is cut in Quake 2's form, and takes several packets in the others.
func TestLists(t *testing.T) {
	many := slices.Repeat([]netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:27500"), netip.MustParseAddrPort("[2001:db8::1]:1")}, MaxEntries+1)
	for form, want := range map[Form][]int{Two: {MaxEntries}, World: {MaxEntries, 1}, Hexen: {MaxEntries, 1}} {
		var got []int
		for _, p := range form.AppendLists(nil, many) {
			list, ok, err := form.ParseList(nil, p)
			if !ok || err != nil || len(p) > 1400 {
				t.Errorf("form %d: %v, %v, %d bytes", form, ok, err, len(p))
			}
			got = append(got, len(list))
		}
		if !slices.Equal(got, want) {
			t.Errorf("form %d: lists of %v, want %v", form, got, want)
		}
		if none := form.AppendLists(nil, nil); len(none) != 1 {
			t.Errorf("form %d: %d packets without servers", form, len(none))
		}
	}
}
