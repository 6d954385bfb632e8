package qr2

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"testing"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/nettest"
)

// dialOnce returns a client of a master that answers its first packet alone.
func dialOnce(t *testing.T, answers ...[]byte) *netclient.Packets {
	t.Helper()
	server := nettest.Answer(t, func([]byte) [][]byte {
		now := answers
		answers = nil
		return now
	})
	p, err := netclient.Dial(t.Context(), server.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func TestHost_Register(t *testing.T) {
	const instance = 0x01020304
	reply := func(k Kind, instance uint32, body string) []byte {
		return append(appendHeader(nil, k, instance), body...)
	}
	for name, tt := range map[string]struct {
		answers [][]byte // in front of a refusal with the text "end"
		want    string   // text of the refusal
	}{
		"short packets":   {[][]byte{{}, {0xFE}, {0xFE, 0xFD, 1, 1, 2, 3}, reply(KindRefusal, instance, "")}, "end"},
		"other instances": {[][]byte{reply(KindRefusal, 7, "\x01no\x00"), reply(KindChallenge, 7, "ABC\x00")}, "end"},
		"refused":         {[][]byte{reply(KindRefusal, instance, "\x01no such game\x00rest")}, "no such game"},
		"text has no end": {[][]byte{reply(KindRefusal, instance, "\x01no")}, ""},
		"no text":         {[][]byte{reply(KindRefusal, instance, "\x01")}, ""},
		"empty challenge": {[][]byte{reply(KindChallenge, instance, "")}, "end"},
		"other kinds":     {[][]byte{reply(KindQuery, 9, ""), reply(KindMessage, instance, ""), reply(KindRegistered, instance, "")}, "end"},
	} {
		t.Run(name, func(t *testing.T) {
			p := dialOnce(t, append(tt.answers, reply(KindRefusal, instance, "\x01end\x00"))...)
			h := &Host{Packets: p, Game: "gmtest", Secret: "aB3dE6", Instance: instance}
			err := h.Register(t.Context())
			if no, refused := errors.AsType[*RefusedError](err); !refused || no.Code != 1 || no.Text != tt.want {
				t.Errorf("Register: %v, want a refusal with text %q", err, tt.want)
			}
		})
	}
	t.Run("context ended", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		h := &Host{Packets: dialOnce(t), Game: "gmtest", Instance: instance}
		if err := h.Register(ctx); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Register: %v, want %v", err, os.ErrDeadlineExceeded)
		}
	})
	t.Run("unwritable", func(t *testing.T) {
		h := &Host{
			Packets: dialOnce(t), Game: "gmtest", Private: netip.MustParseAddrPort("192.168.0.2:6500"),
			Players: Table{Columns: []string{"player_"}, Rows: [][]string{{"a", "b"}}},
		}
		if err := h.Register(t.Context()); err == nil {
			t.Error("a row with more values than columns: no error")
		}
	})
}
