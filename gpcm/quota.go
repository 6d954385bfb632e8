package gpcm

import (
	"sync"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// quotas are how many changes of what is stored each profile may make, over all
// of its connections: changeRate per second, changeBurst at once. A new
// connection brings no new quota. Its memory is fixed; when a row is full, the
// profile that spent least makes room.
type quotas struct {
	began time.Time

	mu   sync.Mutex // guards the field below
	rows [][quotaRowLen]quota
}

// quotas remember quotaRows*quotaRowLen profiles, of those that changed something
// in the last changeBurst/changeRate seconds.
const (
	quotaRows   = 4096
	quotaRowLen = 8
)

// quota is what one profile has spent.
type quota struct {
	profile storage.ProfileID // 0: none
	spent   float32
	at      time.Duration // since quotas.began, when spent was right
}

func newQuotas() *quotas {
	return &quotas{began: time.Now(), rows: make([][quotaRowLen]quota, quotaRows)}
}

// left returns what is left of the spending at now.
func (q *quota) left(now time.Duration) float32 {
	return max(0, q.spent-float32((now-q.at).Seconds()*changeRate))
}

// take takes one change from the quota of a profile and reports whether there was
// one.
func (q *quotas) take(id storage.ProfileID, now time.Time) bool {
	at := now.Sub(q.began)
	q.mu.Lock()
	defer q.mu.Unlock()
	row := &q.rows[int(id)%quotaRows]
	index, least := 0, float32(changeBurst+1)
	for i := range row {
		left := row[i].left(at)
		if row[i].profile == id {
			if left+1 > changeBurst {
				return false
			}
			row[i].spent, row[i].at = left+1, at
			return true
		}
		if left < least {
			index, least = i, left
		}
	}
	row[index] = quota{profile: id, spent: 1, at: at}
	return true
}
