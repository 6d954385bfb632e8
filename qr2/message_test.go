package qr2

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/zanmaster"
)

// serving makes messages leave through the fake socket.
func (in *intake) serving() *intake {
	in.conn = in.w
	return in
}

// sendMessage has a message carried and returns the packet.
func (h *host) message(t *testing.T, data []byte) []byte {
	t.Helper()
	if err := h.in.SendToServer(h.key(), data); err != nil {
		t.Fatalf("SendToServer: %v", err)
	}
	got := h.in.w.Take()
	if len(got) != 1 || got[0].kind() != KindMessage || got[0].to != h.addr || got[0].from != masterAddr {
		t.Fatalf("sent %+v, want one message", got)
	}
	return got[0].data
}

func (h *host) receipt(message []byte) []byte {
	return h.packet(KindReceipt, string(message[replyHeader:replyHeader+4]))
}

func TestMessageIsRepeatedUntilItsReceipt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil).serving()
		h := in.host("192.0.2.1:6500")
		h.register()
		data := []byte("\xfd\xfc\x1e\x66\x6a\xb2\x12\x34\x56\x78")
		m := h.message(t, data)
		if !bytes.Equal(m[:replyHeader], h.reply(KindMessage)) || !bytes.Equal(m[replyHeader+4:], data) {
			t.Errorf("message: got %x", m)
		}
		data[0] = 0 // it is the caller's again
		in.pass(time.Second)
		h.want(sent{m, masterAddr, h.addr})
		if dropped := h.send(h.receipt(m)); dropped != uplink.NotDropped {
			t.Errorf("receipt: dropped: %s", dropped)
		}
		if got := h.send(h.receipt(m)); got != uplink.Unexpected {
			t.Errorf("receipt of the copy: got %q, want %q", got, uplink.Unexpected)
		}
		in.pass(20 * time.Second)
		h.want()
		if last := in.list.All()[0].LastSeen; time.Since(last) > 21*time.Second {
			t.Error("a receipt is no sign of life")
		}
	})
}

func TestMessageIsGivenUpInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil).serving()
		h := in.host("192.0.2.1:6500")
		h.register()
		m := h.message(t, nil)
		var copies []time.Duration
		begin := time.Now()
		for range 300 {
			in.pass(tickEvery)
			for _, p := range in.w.Take() {
				if !bytes.Equal(p.data, m) {
					t.Errorf("copy: got %x, want %x", p.data, m)
				}
				copies = append(copies, time.Since(begin))
			}
		}
		if want := "[500ms 1.5s 3.5s 7.5s]"; fmt.Sprint(copies) != want {
			t.Errorf("copies after %v, want %v", copies, want)
		}
		if len(in.messages.waiting)+len(in.messages.perHost) != 0 {
			t.Error("it still waits")
		}
	})
}

func TestMessagesThatAreRefused(t *testing.T) {
	in := newIntake(t, nil)
	h := in.host("192.0.2.1:6500")
	h.register()
	if err := in.SendToServer(h.key(), nil); err == nil {
		t.Error("SendToServer before Serve: no error")
	}
	in.serving()
	zandronum := master.Server{Key: master.Key{Source: in.host("192.0.2.9:1").addr}, Game: "other", Origin: zanmaster.Origin, Public: in.host("192.0.2.9:1").addr}
	if err := in.list.Put(zandronum); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		to   master.Key
		size int
		want error
	}{
		"the longest":      {h.key(), MaxMessage, nil},
		"one byte more":    {h.key(), MaxMessage + 1, ErrTooLong},
		"unknown host":     {in.host("192.0.2.2:6500").key(), 1, master.ErrNotListed},
		"another instance": {h.restarted(9).key(), 1, master.ErrNotListed},
		"another protocol": {zandronum.Key, 1, master.ErrNotListed},
	} {
		if err := in.SendToServer(tt.to, make([]byte, tt.size)); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", name, err, tt.want)
		}
	}
	if sent := in.w.Take(); len(sent) != 1 || len(sent[0].data) != 255 {
		t.Errorf("sent %d packets, want the longest message in one of 255 bytes, which a host takes", len(sent))
	}
}

func TestMessagesOnTheirWayAreBounded(t *testing.T) {
	in := newIntake(t, nil).serving()
	h := in.host("192.0.2.1:6500")
	h.register()
	var first []byte
	for i := range maxMessagesPerHost {
		m := h.message(t, nil)
		if i == 0 {
			first = m
		}
	}
	if err := in.SendToServer(h.key(), nil); !errors.Is(err, master.ErrBusy) {
		t.Errorf("message %d: got %v, want ErrBusy", maxMessagesPerHost+1, err)
	}
	h.want()
	other := in.host("192.0.2.2:6500")
	other.register()
	other.message(t, nil)
	if dropped := h.send(h.receipt(first)); dropped != uplink.NotDropped {
		t.Fatalf("receipt: dropped: %s", dropped)
	}
	h.message(t, nil)
}

func TestMessagesInAllAreBounded(t *testing.T) {
	in := newIntake(t, nil).serving()
	for i := range maxMessages {
		in.messages.waiting[messageID{key: uint32(i)}] = &message{}
	}
	h := in.host("192.0.2.1:6500")
	h.register()
	if err := in.SendToServer(h.key(), nil); !errors.Is(err, master.ErrBusy) {
		t.Errorf("got %v, want ErrBusy", err)
	}
}

func TestReceiptMustComeFromTheHost(t *testing.T) {
	in := newIntake(t, nil).serving()
	h := in.host("192.0.2.1:6500")
	h.register()
	m := h.message(t, nil)
	for name, other := range map[string]*host{"port": in.host("192.0.2.1:6501"), "instance": h.restarted(5)} {
		if got := other.send(other.receipt(m)); got != uplink.Unexpected {
			t.Errorf("receipt from another %s: got %q, want %q", name, got, uplink.Unexpected)
		}
	}
	if dropped := h.send(h.receipt(m)); dropped != uplink.NotDropped {
		t.Errorf("receipt of the host: dropped: %s", dropped)
	}
}

func TestMessagesToUnlistedServer(t *testing.T) {
	for name, leave := range map[string]func(*host){
		"left":    func(h *host) { _ = h.send(h.heartbeat("statechanged", "2")) },
		"expired": func(h *host) { srv, _ := h.in.list.Get(h.key()); h.in.list.Remove(h.key()); h.in.Expired(srv) },
		"restarted": func(h *host) {
			h.restarted(8).register()
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := newIntake(t, nil).serving()
			stays := in.host("192.0.2.2:6500")
			stays.register()
			stays.message(t, nil)
			h := in.host("192.0.2.1:6500")
			h.register()
			h.message(t, nil)
			h.message(t, nil)
			leave(h)
			if got := len(in.messages.waiting); got != 1 || in.messages.perHost[stays.key()] != 1 || len(in.messages.perHost) != 1 {
				t.Errorf("%d messages wait, want the one to another server", got)
			}
		})
	}
}

func TestMessageKeys(t *testing.T) {
	table := newMessageTable()
	table.last = math.MaxUint32 - 2
	for _, want := range []uint32{math.MaxUint32 - 1, 1, 2} {
		if got := table.nextKey(); got != want {
			t.Errorf("next key: got %#x, want %#x", got, want)
		}
	}
}

// A host does not deliver a message whose key it has seen, and it remembers the
// keys that it was sent before the daemon was restarted.
func TestMessageKeysAfterRestart(t *testing.T) {
	seen := make(map[uint32]bool)
	for range 4 {
		in := newIntake(t, nil).serving()
		h := in.host("192.0.2.1:6500")
		h.register()
		key := binary.BigEndian.Uint32(h.message(t, nil)[replyHeader:])
		if seen[key] {
			t.Fatalf("key %#x came twice", key)
		}
		seen[key] = true
	}
}
