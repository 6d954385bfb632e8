package zanmaster

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/zandronum"
)

// dialOnce returns a client of a master that answers its first packet alone, with
// messages.
func dialOnce(t *testing.T, messages ...[]byte) *netclient.Packets {
	t.Helper()
	server := nettest.Answer(t, func([]byte) (now [][]byte) {
		for _, m := range messages {
			now = append(now, zandronum.Encode(nil, m))
		}
		messages = nil
		return now
	})
	p, err := netclient.Dial(t.Context(), server.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func TestLauncher_List(t *testing.T) {
	packets, _ := zandronum.ListPackets(nil)
	part := packets[0]
	for name, tt := range map[string]struct {
		message []byte
		want    error // nil: any
	}{
		"banned":   {zandronum.AppendAnswer(nil, zandronum.AnswerBanned), AnswerError(zandronum.AnswerBanned)},
		"too soon": {zandronum.AppendAnswer(nil, zandronum.AnswerTooSoon), AnswerError(zandronum.AnswerTooSoon)},
		"nothing":  {nil, nil},
		"short":    {part[:3], nil},
		"cut off":  {part[:len(part)-1], nil},
	} {
		t.Run(name, func(t *testing.T) {
			l := &Launcher{Packets: dialOnce(t, tt.message)}
			if got, err := l.List(t.Context()); err == nil || (tt.want != nil && !errors.Is(err, tt.want)) {
				t.Errorf("List: %v, %v; want %v", got, err, tt.want)
			}
		})
	}
	t.Run("context ended", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := (&Launcher{Packets: dialOnce(t)}).List(ctx); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("List: %v, want %v", err, os.ErrDeadlineExceeded)
		}
	})
}

func TestGameServer_Register(t *testing.T) {
	const verification = "0123456789abcdef0123456789abcdef"
	request := func(text string) []byte {
		return zandronum.AppendVerificationRequest(nil, zandronum.Verification{Verification: []byte(text), Number: 7})
	}
	bans := func(text string, number byte) []byte {
		b, _ := new(zandronum.BanList).AppendPart(nil, []byte(text), number, 0)
		return b
	}
	for name, tt := range map[string]struct {
		messages [][]byte
		want     error
	}{
		"right":             {[][]byte{request(verification), bans(verification, 0)}, nil},
		"another message":   {[][]byte{zandronum.AppendAnswer(nil, zandronum.AnswerBanned)}, ErrNotAsked},
		"of another server": {[][]byte{request("other")}, ErrNotAsked},
		"short request":     {[][]byte{request(verification)[:10]}, ErrNotAsked},
		"no ban list":       {[][]byte{request(verification), request(verification)}, ErrNotBanList},
		"second part first": {[][]byte{request(verification), bans(verification, 1)}, ErrNotBanList},
		"list of another":   {[][]byte{request(verification), bans("other", 0)}, ErrNotBanList},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewGameServer(dialOnce(t, tt.messages...), verification, nil)
			var serving sync.WaitGroup
			serving.Go(s.Serve)
			if _, err := s.Register(t.Context(), true); !errors.Is(err, tt.want) {
				t.Errorf("Register: %v, want %v", err, tt.want)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := s.AwaitRequest(ctx); err == nil {
				t.Error("AwaitRequest, context ended: no error")
			}
			_ = s.Close()
			serving.Wait()
		})
	}
}
