// Package wake signals goroutines that sleep until there is work. It does not count signals: one that
// is not yet noticed stands for all later ones.
package wake

// Up signals the reader of c, a channel of capacity 1, without waiting.
func Up(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is signalled already
	}
}
