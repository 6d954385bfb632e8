package metric_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/metric"
)

// The value is that of now if it comes soon, else the last one.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, takes, reads := 0, time.Duration(0), 0
		var err error
		value := metric.Slow(func() (int, error) {
			reads++
			time.Sleep(takes)
			return n, err
		})
		want := func(want int) {
			t.Helper()
			began := time.Now()
			if got := value(); got != want || time.Since(began) > time.Second {
				t.Errorf("value %d after %v, want %d soon", got, time.Since(began), want)
			}
		}
		n = 1
		want(1)
		n, err = 2, errors.New("away")
		want(1)
		n, err, takes = 3, nil, time.Minute
		want(1)
		want(1)
		synctest.Wait()
		if reads != 3 {
			t.Errorf("%d calls at the same time, want 1", reads-2)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		takes = 0
		n = 4
		want(4)
	})
}
