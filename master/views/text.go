package views

import "time"

// Text is the encoded list of a game at one moment, for services that write a list in one
// piece and read the whole game for it. It is not changed once it is in a Cache. Services
// embed it in the type that they keep.
type Text struct {
	Bytes []byte
	Rows  int
	// Serial is that of the game's last change that the list shows.
	Serial uint64
	Built  time.Time
	Took   time.Duration // to build it
	Sending
}

// Size implements View.
func (t *Text) Size() int { return cap(t.Bytes) }

// Finish notes when building began, and how long it took.
func (t *Text) Finish(began time.Time) { t.Built, t.Took = began, time.Since(began) }

// MaxHold is the longest time for which a Text is used after its game changed.
const MaxHold = 100 * time.Millisecond

// holdTimes is how many times as long as it took to build a Text is used: it never costs
// more than a twentieth of a processor.
const holdTimes = 20

// Held reports whether the list may be used although its game changed: it was built just
// now, relative to its cost.
func (t *Text) Held() bool { return time.Since(t.Built) < min(MaxHold, holdTimes*t.Took) }

// TextOptions bound a Cache of Texts. kept is Options.Kept.
func TextOptions(kept func(views, bytes int)) Options {
	return Options{Views: 256, Bytes: 32 << 20, SendingBytes: 128 << 20, Kept: kept}
}
