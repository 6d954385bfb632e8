package competition

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// everything is a report with every type and edge.
func everything() *Report {
	values := []Value{
		{Key: 1, Type: TypeInt32, Int: math.MinInt32},
		{Key: 2, Type: TypeInt16, Int: math.MinInt16},
		{Key: 3, Type: TypeByte, Int: 255},
		{Key: 4, Type: TypeString, Text: ""},
		{Key: 5, Type: TypeFloat, Real: float32(math.Inf(-1))},
		{Key: 6, Type: TypeInt64, Int: math.MinInt64},
	}
	for _, n := range []int{1, 126, 127, 128, 253, 254, 255} {
		values = append(values, Value{Key: 7, Type: TypeString, Text: strings.Repeat("s", n)})
	}
	return &Report{
		Developer: 1 << 31, Status: StatusPartial, Flags: FlagNonRelative, Reserved: 3, Values: values,
		Players: []Player{{Conn: GUID{1}, Team: 9, Auth: [16]byte{2}, Result: Desync, Values: values}, {Conn: GUID{2}, Team: 9, Result: None}},
		Teams:   []Team{{Result: Draw, Values: values}, {Result: 77}},
	}
}

func TestReport(t *testing.T) {
	for name, r := range map[string]*Report{
		"everything": everything(), "nothing": {}, "players alone": {Players: []Player{{}, {Team: 4}}}, "teams alone": {Teams: []Team{{}}},
	} {
		wire := r.Append([]byte("before"))[6:]
		got, err := Decode(wire)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if again := got.Append(nil); !bytes.Equal(again, wire) {
			t.Errorf("%s: written again:\n%x, want\n%x", name, again, wire)
		}
	}
	if ids := everything().TeamIDs(); !cmp.Equal(ids, []uint32{9}) {
		t.Errorf("teams %v", ids)
	}
	long := (&Report{Values: []Value{{Type: TypeString, Text: strings.Repeat("s", 300)}}}).Append(nil)
	if r, err := Decode(long); err != nil || len(r.Values[0].Text) != maxString {
		t.Errorf("a string of 300 bytes: %v", err)
	}
}

// seal puts the right MD5 into a report.
func seal(p []byte) []byte {
	sum := digest(p)
	copy(p[digestAt:], sum[:])
	return p
}

func TestMalformedReports(t *testing.T) {
	whole := everything().Append(nil)
	for n := range whole {
		if _, err := Decode(whole[:n]); !errors.Is(err, errLengths) {
			t.Fatalf("the first %d bytes: %v", n, err)
		}
	}
	if _, err := Decode(append(bytes.Clone(whole), 0)); !errors.Is(err, errLengths) {
		t.Errorf("one byte more: %v", err)
	}
	edited := func(at int, n uint16) []byte {
		p := bytes.Clone(whole)
		binary.BigEndian.PutUint16(p[at:], n)
		return seal(p)
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-1] ^= 1
	for name, tc := range map[string]struct {
		wire []byte
		want error
	}{
		"version":            {edited(2, 3), errVersion},
		"MD5":                {flipped, errDigest},
		"players":            {edited(32, 3), errLengths},
		"teams":              {edited(34, 1), errLengths},
		"too many players":   {edited(32, maxPlayers+1), errLengths},
		"keys of the match":  {edited(36, 14), errLengths},
		"fewer keys":         {edited(36, 12), errLengths},
		"keys of players":    {edited(38, 12), errLengths},
		"keys of teams":      {edited(40, 14), errLengths},
		"huge section":       {edited(64, 0xffff), errLengths},
		"roster of 4 GiB":    {edited(44, 0xffff), errLengths},
		"unknown type":       {edited(headerLen+40+32+16+2, 6), errValue},
		"length of a string": {edited(headerLen+40+32+16+8+6+5+4, 0x0100), errValue},
	} {
		if _, err := Decode(tc.wire); !errors.Is(err, tc.want) {
			if name == "length of a string" && errors.Is(err, errLengths) {
				continue // the fields after it are read differently
			}
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
}

func TestMalformedDIME(t *testing.T) {
	whole := appendDIME(nil, []piece{{format: dimeURI, id: "a", typ: "b", data: []byte("c")}, {id: "d", data: []byte("efghi")}})
	for n := range len(whole) - 3 { // the padding of the last record may be missing
		if _, err := readDIME(bytes.NewReader(whole[:n])); err == nil {
			t.Errorf("the first %d of %d bytes are read", n, len(whole))
		}
	}
	if parts, err := readDIME(bytes.NewReader(whole[:len(whole)-3])); err != nil || string(parts[1].data) != "efghi" {
		t.Errorf("without padding: %v", err)
	}
	for name, change := range map[string]func([]byte){
		"version":             func(p []byte) { p[0] = 2<<3 | dimeFirst },
		"no first":            func(p []byte) { p[0] = dimeVersion << 3 },
		"chunked":             func(p []byte) { p[0] |= dimeChunked },
		"data of 4 GiB":       func(p []byte) { p[8] = 0xff },
		"options of 64 KiB":   func(p []byte) { p[2] = 0xff },
		"a second first":      func(p []byte) { p[24] |= dimeFirst },
		"never the last":      func(p []byte) { p[24] &^= dimeLast },
		"more than the limit": func(p []byte) { p[9] = 2 },
	} {
		p := bytes.Clone(whole)
		change(p)
		if _, err := readDIME(bytes.NewReader(append(p, make([]byte, 3*maxDIME)...))); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	many := appendDIME(nil, make([]piece, maxDIMERecords+1))
	if _, err := readDIME(bytes.NewReader(many)); !errors.Is(err, errDIME) {
		t.Errorf("%d records: %v", maxDIMERecords+1, err)
	}
	if parts, err := readDIME(bytes.NewReader(appendDIME(nil, make([]piece, maxDIMERecords)))); err != nil || len(parts) != maxDIMERecords {
		t.Errorf("%d records: %v", maxDIMERecords, err)
	}
}

func TestGUID(t *testing.T) {
	const text = "AAAAaaaa-bbbb-cccc-dddd-eeeeffff0001"
	g, ok := ParseGUID(text)
	if !ok || g.String() != strings.ToLower(text) {
		t.Errorf("%s is read as %s, %v", text, g, ok)
	}
	for _, bad := range []string{"", text[1:], text + "0", strings.Replace(text, "-", "0", 1), strings.Replace(text, "a", "g", 1)} {
		if _, ok := ParseGUID(bad); ok {
			t.Errorf("%q is read", bad)
		}
	}
}

func FuzzReport(f *testing.F) {
	f.Add(unhex(f, recorded(f)["SubmitReport"].Report))
	f.Add(everything().Append(nil))
	f.Fuzz(func(t *testing.T, p []byte) {
		p = bytes.Clone(p) // the engine keeps the input
		if len(p) >= headerLen {
			seal(p) // else nothing gets past the MD5
		}
		r, err := Decode(p)
		if err != nil {
			return
		}
		if got := r.Append(nil); !bytes.Equal(got, p) {
			t.Errorf("%x is written as %x", p, got)
		}
		if essence(r) == "" && len(r.Players)+len(r.Teams) > 0 {
			t.Error("no essence")
		}
	})
}

func FuzzDIME(f *testing.F) {
	f.Add(unhex(f, recorded(f)["SubmitReport"].BodyHex))
	f.Fuzz(func(t *testing.T, p []byte) {
		parts, err := readDIME(bytes.NewReader(p))
		if err != nil {
			return
		}
		again, err := readDIME(bytes.NewReader(appendDIME(nil, parts)))
		if err != nil || len(again) != len(parts) {
			t.Fatalf("written again: %d parts, %v", len(again), err)
		}
		for i := range parts {
			if !bytes.Equal(again[i].data, parts[i].data) || again[i].id != parts[i].id {
				t.Errorf("part %d differs", i)
			}
		}
	})
}
