package competition

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/soap"
)

// TestRecordedExchanges replays the requests of a client of the original SDK, and
// compares the replies with those that it accepted.
func TestRecordedExchanges(t *testing.T) {
	ids := unhex(t, "11111111222233334444555566667777"+"aaaaaaaabbbbccccddddeeeeffff0001"+"aaaaaaaabbbbccccddddeeeeffff0002"+
		"11111111222233334444555566667777"+"aaaaaaaabbbbccccddddeeeeffff0001")
	w := newWorld(t, func(o *Options) { o.Rand, o.Verifier = bytes.NewReader(ids), verifier{as: 1} })
	exchanges := recorded(t)
	for _, method := range []string{"CreateSession", "SetReportIntention", "SubmitReport", "CreateMatchlessSession"} {
		e := exchanges[method]
		r := &soap.Request{Game: "gmtest"}
		envelope := []byte(e.Body)
		if e.BodyHex != "" {
			var err error
			body := stuck{bytes.NewReader(unhex(t, e.BodyHex)), t}
			if envelope, r.Attachments, err = readRequest(post(t, body)); err != nil {
				t.Fatal(err)
			}
		}
		body, err := soap.Parse(envelope)
		if err != nil {
			t.Fatal(err)
		}
		r.Body, r.Method = body, body.Name
		if method == "CreateMatchlessSession" {
			w.backend.sessions = newSessions() // the recording has the same ids again
		}
		if got := w.send(r).raw; got != e.Response {
			t.Errorf("%s:\n%s, want\n%s", method, got, e.Response)
		}
	}
	all := w.matches()
	if len(all) != 1 || all[0].Outcome != storage.MatchHost || len(all[0].Players) != 2 {
		t.Fatalf("matches %+v", all)
	}
	p := all[0].Players[0]
	want := storage.MatchPlayer{Profile: 1, Nick: "uniqueguy", Team: 10, Result: "win", Values: []storage.MatchValue{
		{Key: 3, Text: "-2"}, {Key: 4, Text: "9"}, {Key: 5, Text: "1.5"},
	}}
	if d := cmp.Diff(want, p); d != "" {
		t.Errorf("player: %s", d)
	}
	if guest := all[0].Players[1]; guest.Profile != 0 || guest.Result != "loss" {
		t.Errorf("guest %+v", guest)
	}
}

func TestRecordedReport(t *testing.T) {
	want := unhex(t, recorded(t)["SubmitReport"].Report)
	r, err := Decode(want)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(&Report{
		Developer: 7, Flags: FlagAuthoritative,
		Values: []Value{{Key: 1, Type: TypeString, Text: "mapname"}, {Key: 2, Type: TypeInt32, Int: -42}},
		Players: []Player{
			{Conn: GUID(unhex(t, "aaaaaaaabbbbccccddddeeeeffff0002")), Team: 10, Values: []Value{
				{Key: 3, Type: TypeInt16, Int: -2}, {Key: 4, Type: TypeByte, Int: 9}, {Key: 5, Type: TypeFloat, Real: 1.5},
			}},
			{Conn: GUID(unhex(t, "aaaaaaaabbbbccccddddeeeeffff0003")), Team: 20, Result: Loss, Values: []Value{
				{Key: 6, Type: TypeInt64, Int: 0x0102030405060708},
			}},
		},
		Teams: []Team{{Values: []Value{{Key: 7, Type: TypeInt32, Int: 1}}}, {Result: Loss}},
	}, r); d != "" {
		t.Errorf("the recorded report: %s", d)
	}
	if got := r.Append(nil); !bytes.Equal(got, want) {
		t.Errorf("written again:\n%x, want\n%x", got, want)
	}
}

func TestRecordedDIME(t *testing.T) {
	want := unhex(t, recorded(t)["SubmitReport"].BodyHex)
	parts, err := readDIME(bytes.NewReader(append(bytes.Clone(want), "more"...)))
	if err != nil || len(parts) != 2 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	if parts[1].id != "report" || parts[1].typ != "application/bin" || parts[1].format != dimeMedia || parts[0].format != dimeURI {
		t.Errorf("parts %q %q, formats %d %d", parts[1].id, parts[1].typ, parts[0].format, parts[1].format)
	}
	if got := appendDIME(nil, parts); !bytes.Equal(got, want) {
		t.Errorf("written again: %d bytes, want %d", len(got), len(want))
	}
}
