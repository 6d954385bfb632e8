package history

import "time"

// dayHours is the number of hours of Brief.Day.
const dayHours = 24

// Brief is what the last seven days of a server come to, by hours. The number of an hour is the
// largest sample in it.
type Brief struct {
	First   time.Time     // sample in which the server was listed first
	New     bool          // that was within NewFor, and samples of the day before it exist
	Day     [dayHours]int // players in the last hours, the present one last; Away where there is no number
	Players int           // sum of the numbers of all hours
	Listed  int           // hours in which it was listed
	Counted int           // hours with samples since it was listed first
}

// NewFor is how long a server counts as new.
const NewFor = 3 * 24 * time.Hour

// minBefore is for how long samples were taken before a server that counts as new.
const minBefore = 24 * time.Hour

// Brief returns the last seven days of a server. ok is false if it has no history.
func (b *Book) Brief(k Key) (out Brief, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tracks[k]
	if t == nil || b.all == nil {
		return out, false
	}
	for i := range out.Day {
		out.Day[i] = Away
	}
	last := b.round / Week.rounds()
	from := max(last-weekSteps+1, int64(t.first)/Week.rounds())
	at := Week.slot(from)
	for ago := last - from; ago >= 0; ago-- {
		n, all := t.players[at], b.all.players[at]
		if at++; at == daySteps+weekSteps {
			at = daySteps
		}
		if n == absent[uint16]() {
			if all != absent[uint32]() {
				out.Counted++
			}
			continue
		}
		out.Counted++
		out.Listed++
		out.Players += int(n)
		if ago < dayHours {
			out.Day[dayHours-1-ago] = int(n)
		}
	}
	out.First = time.Unix(0, int64(t.first)*int64(Interval)).UTC()
	out.New = b.round-int64(t.first) < int64(NewFor/Interval) && int64(t.first)-int64(b.all.first) >= int64(minBefore/Interval)
	return out, true
}
