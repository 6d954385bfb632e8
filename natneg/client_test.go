package natneg

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"testing"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/nettest"
)

func TestPeer_Partner(t *testing.T) {
	const cookie = 0x01020304
	newPeer := func(t *testing.T, answers ...[]byte) *Peer {
		server := nettest.Answer(t, func([]byte) [][]byte {
			now := answers
			answers = nil // the other inits have none
			return now
		})
		p, err := netclient.Dial(t.Context(), server.String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		return &Peer{Packets: p, Version: 3, Cookie: cookie, Game: "gmtest"}
	}
	partner := netip.MustParseAddrPort("192.0.2.1:6500")
	connect := func(cookie uint32, c Connect) []byte {
		return c.AppendTo(Header{Version: 3, Type: TypeConnect, Cookie: cookie}.AppendTo(nil))
	}
	right := connect(cookie, Connect{Remote: partner, Finished: FinishedOK})
	for name, tt := range map[string]struct {
		answers [][]byte // in front of the right one
		want    error
	}{
		"short packets":       {[][]byte{{}, right[:5], right[:11]}, nil},
		"other negotiation":   {[][]byte{connect(7, Connect{Finished: FinishedOK + 1})}, nil},
		"other types":         {[][]byte{Header{Version: 3, Type: TypeReportAck, Cookie: cookie}.AppendTo(nil)}, nil},
		"no partner":          {[][]byte{connect(cookie, Connect{Finished: FinishedOK + 1})}, ErrNoPartner},
		"short connect":       {[][]byte{right[:len(right)-1]}, ErrNoPartner},
		"connect is a header": {[][]byte{right[:12]}, ErrNoPartner},
	} {
		t.Run(name, func(t *testing.T) {
			peer := newPeer(t, append(tt.answers, right)...)
			if err := peer.Announce(); err != nil {
				t.Fatal(err)
			}
			got, err := peer.Partner(t.Context())
			if !errors.Is(err, tt.want) || (err == nil && got != partner) {
				t.Errorf("Partner: %v, %v; want error %v", got, err, tt.want)
			}
		})
	}
	t.Run("context ended", func(t *testing.T) {
		peer := newPeer(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := peer.Partner(ctx); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Partner: %v, want %v", err, os.ErrDeadlineExceeded)
		}
		if err := peer.Report(ctx); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Report: %v, want %v", err, os.ErrDeadlineExceeded)
		}
	})
}
