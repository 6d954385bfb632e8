package serverbrowse

import (
	"errors"
	"io"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/verdicts"
)

// retryAfter is how long a player looks at an empty list before the next try.
const retryAfter = 12 * time.Second

// visit is a connection of a browser with a list, which ends when the function returns.
type visit func(b *browser)

// waits is a browser that cannot read what it gets: it reads and never answers.
func waits(d time.Duration) visit {
	return func(b *browser) {
		_ = b.conn.SetReadDeadline(time.Now().Add(d))
		_, _ = io.Copy(io.Discard, b.conn)
	}
}

// reads is a browser that reads its list and returns keepalives.
func reads(d time.Duration) visit {
	return func(b *browser) {
		b.reply(0)
		_ = b.conn.SetReadDeadline(time.Now().Add(d))
		for {
			if p, err := b.dec.Push(); err != nil || p.Kind != PushKeepalive {
				return
			}
			b.write([]byte{0, 3, 3})
		}
	}
}

// closes is a browser that reads its list and closes the connection.
func closes(b *browser) { b.reply(0) }

// asksLater is a browser that asks for a server after a time, without keepalives.
func asksLater(b *browser) {
	b.reply(0)
	time.Sleep(2 * time.Second)
	b.write(AppendInfoRequest(nil, netip.MustParseAddrPort("192.0.2.1:6500")))
	waits(time.Minute)(b)
}

// TestUnreadLists reports browsers that cannot read their lists, and no others.
func TestUnreadLists(t *testing.T) {
	long := 2 * time.Minute
	for name, tc := range map[string]struct {
		visits []visit
		change func(r *ListRequest)
		pause  time.Duration
		want   verdicts.Verdict // about reading; zero: none
	}{
		"wrong key":                         {visits: []visit{waits(retryAfter), waits(retryAfter)}, want: verdicts.ListUnread},
		"wrong key, updates":                {visits: []visit{waits(retryAfter), waits(retryAfter)}, change: func(r *ListRequest) { r.Options = PushUpdates }, want: verdicts.ListUnread},
		"wrong key, rooms":                  {visits: []visit{waits(retryAfter), waits(retryAfter)}, change: func(r *ListRequest) { r.Options = SendGroups }, want: verdicts.ListUnread},
		"wrong key, one connection":         {visits: []visit{waits(long)}, want: verdicts.ListUnread},
		"wrong key, then the right one":     {visits: []visit{waits(retryAfter), waits(retryAfter), reads(retryAfter)}, want: verdicts.ListRead},
		"silent once":                       {visits: []visit{waits(retryAfter)}},
		"silent twice, a day between":       {visits: []visit{waits(retryAfter), waits(retryAfter)}, pause: 24 * time.Hour},
		"silent, read, silent":              {visits: []visit{waits(retryAfter), reads(retryAfter), waits(retryAfter)}},
		"reads":                             {visits: []visit{reads(retryAfter), reads(long), reads(retryAfter)}},
		"reads and closes":                  {visits: []visit{closes, closes, closes, closes, closes}},
		"closes before a keepalive":         {visits: []visit{waits(2 * time.Second), waits(2 * time.Second), waits(2 * time.Second)}},
		"closes soon after a keepalive":     {visits: []visit{waits(5 * time.Second), waits(5 * time.Second), waits(5 * time.Second)}},
		"asks for servers":                  {visits: []visit{asksLater, asksLater, asksLater}},
		"connects for messages, sends none": {visits: []visit{waits(long), waits(long)}, change: func(r *ListRequest) { r.Options = NoServerList }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := verdicts.NewLog(zerolog.Nop(), 0)
				f := startPipe(t, func(o *Options) { o.Verdicts = log })
				fill(t, f.reg, 3)
				for _, v := range tc.visits {
					b := f.connect(t)
					r := request(tc.change)
					msg, err := r.AppendTo(nil)
					if err != nil {
						t.Fatal(err)
					}
					b.write(msg)
					v(b)
					_ = b.conn.Close()
					time.Sleep(tc.pause)
				}
				synctest.Wait()
				var got verdicts.Verdict
				for _, e := range log.Recent(10) {
					for _, e := range log.Of(e.Addr.Addr()) {
						if e.Verdict == verdicts.ListUnread || e.Verdict == verdicts.ListRead {
							got = e.Verdict
							if e.Game != "gmtest" {
								t.Errorf("verdict %v on game %q", e.Verdict, e.Game)
							}
						}
					}
				}
				if got != tc.want {
					t.Errorf("verdict %v, want %v", got, tc.want)
				}
			})
		})
	}
}

// Other games and other addresses do not count, and the memory is bounded.
func TestDoubts(t *testing.T) {
	d := newDoubts()
	now := time.Now()
	one := reader{netip.MustParseAddr("192.0.2.1"), "gmtest"}
	for _, other := range []reader{{one.addr, "other"}, {netip.MustParseAddr("192.0.2.2"), "gmtest"}} {
		d.add(other, now)
	}
	if d.add(one, now) {
		t.Error("unread after one silent connection")
	}
	for n := 2; n < 4; n++ {
		if !d.add(one, now) {
			t.Errorf("not unread after %d silent connections", n)
		}
	}
	if !d.clear(one) || d.clear(one) {
		t.Error("cleared: want a correction, once")
	}
	for i := range 10 * maxDoubts {
		d.add(reader{netip.AddrFrom4([4]byte{20, byte(i >> 16), byte(i >> 8), byte(i)}), "gmtest"}, now)
	}
	if d.add(one, now) {
		t.Error("unread after others took the room")
	}
}

// A long list has time to arrive.
func TestLongListUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startPipe(t, nil)
		fill(t, f.reg, 1000)
		b := f.connect(t)
		b.ask(request(nil))
		b.next()
		time.Sleep(echoTime + 4*time.Second) // it has about 40 KB
		synctest.Wait()
		before := testutil.ToFloat64(f.srv.metrics.unanswered)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if after := testutil.ToFloat64(f.srv.metrics.unanswered); before != 0 || after != 1 {
			t.Errorf("%v and then %v lists unanswered, want 0 while it may still arrive and then 1", before, after)
		}
	})
}

// A quiet browser gets its first keepalive early.
func TestFirstKeepalive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		f := startPipe(t, func(o *Options) { o.Registerer = reg })
		b := f.connect(t)
		b.ask(request(nil))
		begin := time.Now()
		for i, want := range []time.Duration{3 * time.Second, 30 * time.Second, 60 * time.Second} {
			if p := b.next(); p.Kind != PushKeepalive || time.Since(begin) != want {
				t.Errorf("message %d: %+v after %v, want a keepalive after %v", i, p, time.Since(begin), want)
			}
		}
		if _, err := b.dec.Push(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("then %v, want the end", err)
		}
		synctest.Wait()
		if got := testutil.ToFloat64(f.srv.metrics.unanswered); got != 1 {
			t.Errorf("%v unanswered lists counted, want 1", got)
		}
	})
}
