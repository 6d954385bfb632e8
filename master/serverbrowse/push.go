package serverbrowse

import "sync"

// listAndPush sends a list and starts updates of the client. The key list of
// the updates follows the list at once: all its keys are texts, even if this
// list uses shorter types.
func (x *session) listAndPush(r *ListRequest, plain, header []byte, a *asked) error {
	keys := make([]Key, 0, len(a.names))
	for _, name := range a.names {
		keys = append(keys, Key{KeyString, name})
	}
	announce, fits := appendPushKeys(nil, keys)
	if !fits {
		x.server.metrics.unfollowed.Inc()
		v, err := x.server.view(a)
		if err != nil {
			return refused(err)
		}
		return x.sendView(r, plain, header, v, nil)
	}
	sub := &subscriber{out: make(chan *batch, maxOutbox), slow: sync.OnceFunc(func() {
		x.server.opt.Metrics.Drop(endedSlow.Error())
		_ = x.conn.Close()
	})}
	v, subscribed, err := x.server.feed.join(a, sub)
	if err != nil {
		return refused(err)
	}
	if err := x.sendView(r, plain, header, v, announce); err != nil {
		if subscribed {
			x.server.feed.leave(a, sub)
		}
		return err
	}
	if subscribed {
		x.subscribe(a, sub)
	}
	return nil
}

// subscribe starts the goroutine that writes updates.
func (x *session) subscribe(a *asked, sub *subscriber) {
	quit := make(chan struct{})
	x.leave = func() {
		x.server.feed.leave(a, sub)
		close(quit)
	}
	x.push.Go(func() {
		for {
			select {
			case <-quit:
				return
			case b := <-sub.out:
				if x.out.send(nil, b.bytes) != nil {
					_ = x.conn.Close() // wakes the reader
					return
				}
			}
		}
	})
}

// unsubscribe ends the updates, if there are any, and waits for their
// goroutine.
func (x *session) unsubscribe() {
	if x.leave == nil {
		return
	}
	x.leave()
	x.push.Wait()
	x.leave = nil
}
