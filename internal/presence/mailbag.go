package presence

import (
	"slices"
	"sync"

	"github.com/respawnd/respawnd/storage"
)

// mailBeats is how many beats name a message. A node that missed all of them has its
// players look into their mailboxes.
const mailBeats = 5

// mailbag is the receivers of the messages that this node stored last, for its beats: nodes
// that it does not reach learn from them who has mail.
type mailbag struct {
	mu   sync.Mutex // guards the fields below
	mail storage.Mail
	sent []uint64 // mail.Last at the last beats
}

// add notes that a message was stored.
func (b *mailbag) add(to storage.ProfileID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mail.Last++
	b.mail.To = append(b.mail.To, to)
	b.cut(storage.MaxMail)
}

// cut keeps the last n receivers. mu is held.
func (b *mailbag) cut(n int) { b.mail.To = b.mail.To[max(0, len(b.mail.To)-n):] }

// get returns what the next beat says.
func (b *mailbag) get() storage.Mail {
	b.mu.Lock()
	defer b.mu.Unlock()
	return storage.Mail{Last: b.mail.Last, To: slices.Clone(b.mail.To)}
}

// beaten forgets what mailBeats beats have said. The last of them said mail.
func (b *mailbag) beaten(mail storage.Mail) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sent = append(b.sent, mail.Last); len(b.sent) >= mailBeats {
		b.cut(int(b.mail.Last - b.sent[0]))
		b.sent = b.sent[1:]
	}
}

// newMail returns for whom a node stored messages between two beats. missed reports that there
// may be more.
func newMail(was, is *storage.NodeRun) (to []storage.ProfileID, missed bool) {
	n := is.Mail.Last
	if was.Run == is.Run {
		n -= min(n, was.Mail.Last)
	}
	to = slices.Clone(is.Mail.To)
	if n <= uint64(len(to)) {
		to = to[uint64(len(to))-n:]
	}
	slices.Sort(to)
	return slices.Compact(to), n > uint64(len(is.Mail.To))
}
