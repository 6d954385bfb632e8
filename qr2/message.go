package qr2

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"math"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
)

// Bounds of client messages.
const (
	maxMessages        = 4096 // on their way at a time
	maxMessagesPerHost = 10   // as many keys as a host remembers
)

// messageGaps are the pauses between the copies of a message. A player waits
// for it, so the first ones are short; after the last the message is given up.
var messageGaps = [...]time.Duration{
	500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 4 * time.Second,
}

// ErrTooLong is returned for a message that a host cannot receive whole.
var ErrTooLong = errors.New("message is longer than 244 bytes")

// errNotServing is returned while no socket is open.
var errNotServing = errors.New("qr2 is not running")

// messageID names a message on its way.
type messageID struct {
	host master.Key
	key  uint32
}

type message struct {
	via  netip.Addr
	data []byte
	sent int // copies
	next time.Time
}

// messageTable holds the messages on their way; Server.mu guards it.
type messageTable struct {
	last    uint32 // key of the newest message
	waiting map[messageID]*message
	perHost map[master.Key]int
}

// newMessageTable returns an empty table. Keys start at a random value: hosts
// remember those of before a restart of the daemon.
func newMessageTable() messageTable {
	var first [4]byte
	_, _ = rand.Read(first[:]) // never returns an error
	return messageTable{last: binary.BigEndian.Uint32(first[:]), waiting: make(map[messageID]*message), perHost: make(map[master.Key]int)}
}

// nextKey returns a fresh message key. A host's memory of keys starts out
// filled with FFFFFFFF, so that one is never used.
func (t *messageTable) nextKey() uint32 {
	t.last++
	if t.last == math.MaxUint32 {
		t.last = 1
	}
	return t.last
}

func (t *messageTable) remove(id messageID) bool {
	if _, ok := t.waiting[id]; !ok {
		return false
	}
	delete(t.waiting, id)
	if t.perHost[id.host]--; t.perHost[id.host] == 0 {
		delete(t.perHost, id.host)
	}
	return true
}

// forget drops the unconfirmed messages to a host that is gone.
func (t *messageTable) forget(host master.Key) {
	if t.perHost[host] == 0 {
		return
	}
	for id := range t.waiting {
		if id.host == host {
			t.remove(id)
		}
	}
}

// SendToServer implements master.Messenger. The message is sent at once and
// repeated until the host confirms it.
func (s *Server) SendToServer(k master.Key, payload []byte) error {
	if len(payload) > MaxMessage {
		return ErrTooLong
	}
	srv, ok := s.own(k)
	if !ok {
		return master.ErrNotListed
	}
	s.mu.Lock()
	w := s.conn
	if w == nil {
		s.mu.Unlock()
		return errNotServing
	}
	if len(s.messages.waiting) >= maxMessages || s.messages.perHost[k] >= maxMessagesPerHost {
		s.mu.Unlock()
		s.metrics.messages.refused.Inc()
		return master.ErrBusy
	}
	id := messageID{k, s.messages.nextKey()}
	m := &message{via: srv.Via, data: bytes.Clone(payload), sent: 1, next: time.Now().Add(messageGaps[0])}
	s.messages.waiting[id] = m
	s.messages.perHost[k]++
	s.mu.Unlock()

	s.sendMessage(w, id, m)
	return nil
}

func (s *Server) sendMessage(w netserve.PacketWriter, id messageID, m *message) {
	var buf [MaxReply]byte
	s.out.Send(w, appendMessage(buf[:0], id.host.Instance, id.key, m.data), m.via, id.host.Source)
	s.metrics.messages.sent.Inc()
}

// receipt takes a message off its way. Its address and instance key must be the
// host's.
func (s *Server) receipt(p netserve.Packet, key master.Key) uplink.Drop {
	if len(p.Data) < header+4 {
		return uplink.Short
	}
	id := messageID{key, binary.BigEndian.Uint32(p.Data[header:])}
	s.mu.Lock()
	known := s.messages.remove(id)
	s.mu.Unlock()
	if !known {
		return uplink.Unexpected
	}
	s.list.Touch(key, Origin, time.Now())
	s.metrics.messages.delivered.Inc()
	return uplink.NotDropped
}

// repeatMessages repeats unconfirmed messages and gives up old ones.
func (s *Server) repeatMessages(w netserve.PacketWriter, now time.Time) {
	type copyOf struct {
		id messageID
		m  message
	}
	var due []copyOf
	lost := 0
	s.mu.Lock()
	for id, m := range s.messages.waiting {
		if now.Before(m.next) {
			continue
		}
		if m.sent > len(messageGaps)-1 {
			s.messages.remove(id)
			lost++
			continue
		}
		m.next = now.Add(messageGaps[m.sent])
		m.sent++
		due = append(due, copyOf{id, *m})
	}
	s.mu.Unlock()

	for i := range due {
		s.sendMessage(w, due[i].id, &due[i].m)
	}
	s.metrics.messages.lost.Add(float64(lost))
}
