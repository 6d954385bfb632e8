package probe

import "github.com/respawnd/respawnd/internal/query"

// aseTalk requests the status of a server in the query protocol of the All-Seeing Eye, which has
// all.
type aseTalk struct {
	oneQuestion
	result query.Status
}

func (*aseTalk) question() []byte { return query.AppendASE(nil) }

func (t *aseTalk) take(packet []byte) (query.Step, error) {
	st, err := query.ParseASE(packet)
	if err != nil {
		return query.Wait, err
	}
	t.result = st
	return query.Done, nil
}

func (t *aseTalk) status() query.Status { return t.result }
