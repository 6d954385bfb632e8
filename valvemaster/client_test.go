package valvemaster

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/nettest"
)

func TestBrowser_List(t *testing.T) {
	one := netip.MustParseAddrPort("192.0.2.1:27015")
	page := func(l List) []byte { return l.AppendTo(nil) }
	dial := func(t *testing.T, answers ...[]byte) *Browser {
		server := nettest.Answer(t, func([]byte) [][]byte {
			if len(answers) == 0 {
				return nil
			}
			now := answers[:1]
			answers = answers[1:]
			return now
		})
		p, err := netclient.Dial(t.Context(), server.String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		return &Browser{Packets: p}
	}
	whole := page(List{Servers: []netip.AddrPort{one}, Last: true})
	part := page(List{Servers: []netip.AddrPort{one}})
	for name, tt := range map[string]struct {
		pages   int
		answers [][]byte
		servers int
		want    error
	}{
		"whole":            {0, [][]byte{whole}, 1, nil},
		"two pages":        {0, [][]byte{part, whole}, 2, nil},
		"first page alone": {1, [][]byte{part}, 1, nil},
		"page of nothing":  {0, [][]byte{part, page(List{})}, 1, nil},
		"empty packet":     {0, [][]byte{{}}, 0, errMalformed},
		"short header":     {0, [][]byte{whole[:5]}, 0, errMalformed},
		"half a server":    {0, [][]byte{part, part[:len(part)-3]}, 1, errMalformed},
		"server after end": {0, [][]byte{append(slices.Clip(whole), part[6:]...)}, 0, errMalformed},
		"another message":  {0, [][]byte{ChallengeRequest{}.AppendTo(nil)}, 0, errMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := dial(t, tt.answers...).List(t.Context(), "", tt.pages)
			if len(got) != tt.servers || !errors.Is(err, tt.want) {
				t.Errorf("List: %v, %v; want %d servers, error %v", got, err, tt.servers, tt.want)
			}
		})
	}
	t.Run("context ended", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, retry := range []time.Duration{0, time.Hour} {
			b := dial(t)
			b.Retry = retry
			if _, err := b.List(ctx, "", 0); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("List, retry %v: %v, want %v", retry, err, os.ErrDeadlineExceeded)
			}
		}
	})
}

func TestHost_Challenge(t *testing.T) {
	// A challenge that is cut off, and one from another address, are no challenges.
	right := Challenge{Challenge: 7}.AppendTo(nil)
	server := nettest.Answer(t, func([]byte) [][]byte { return [][]byte{{}, right[:len(right)-1], right} })
	p, err := netclient.Listen(t.Context(), server.String())
	if err != nil {
		t.Fatal(err)
	}
	h := NewHost(p, Heartbeat{}, nil)
	h.take(Challenge{Challenge: 8}.AppendTo(nil), netip.MustParseAddrPort("192.0.2.1:27010"))
	var serving sync.WaitGroup
	serving.Go(h.Serve)
	if c, err := h.Challenge(t.Context()); c != 7 || err != nil {
		t.Errorf("Challenge: %d, %v; want 7", c, err)
	}
	_ = h.Close()
	serving.Wait()
	if _, err := h.Challenge(t.Context()); err == nil {
		t.Error("Challenge on a closed socket: no error")
	}
}
