package cluster

import (
	"encoding/binary"
	"errors"
)

const (
	// mapVersion is the first byte of the messages of all Maps.
	mapVersion = 1
	// partSize is the length in bytes from which a batch or a part is sent.
	partSize = 128 << 10
	// maxItem is the length of the longest key, value and note together.
	maxItem = 256 << 10
)

// Reasons why a message of another node is dropped.
var (
	errMapVersion = errors.New("message of another version")
	errMapForm    = errors.New("malformed message")
)

// mapHead begins a batch of changes, a request for a part of the entries, and the part.
//
//	offset size
//	     0    1  version, 1
//	     1    1  version of the codec
//	     2    8  incarnation of the owner of the entries
//	    10    8  in a batch the number of the change before its first one; in a request that of
//	             the last entry of the part before; in a part that of the last change of all
//	    18    -  items
type mapHead struct {
	codec       byte
	incarnation uint64
	number      uint64
}

func (h mapHead) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(append(b, mapVersion, h.codec), h.incarnation)
	return binary.BigEndian.AppendUint64(b, h.number)
}

// head returns the head of a message of this node.
func (m *Map[K, V]) head(number uint64) mapHead {
	return mapHead{m.opt.Codec.Version, m.opt.Bus.Incarnation(m.opt.Bus.Self()), number}
}

// parseHead parses a message. items is part of b.
func (m *Map[K, V]) parseHead(b []byte) (h mapHead, items []byte, err error) {
	const size = 18
	switch {
	case len(b) < size:
		return h, nil, errMapForm
	case b[0] != mapVersion || b[1] != m.opt.Codec.Version:
		return h, nil, errMapVersion
	}
	return mapHead{b[1], binary.BigEndian.Uint64(b[2:]), binary.BigEndian.Uint64(b[10:])}, b[size:], nil
}

// item is an entry in a message: its number, then key, value and note, each with its length
// before it. The length of the value is one more, 0: the entry is removed.
type item struct {
	number     uint64
	key, value []byte
	removed    bool
	note       []byte
}

// itemBuffers are memory for the parts of an item.
type itemBuffers struct{ key, value []byte }

// appendItem appends an entry; v nil: it is removed. One that is too long for the cluster is
// removed for the others, too.
func (m *Map[K, V]) appendItem(b []byte, buf *itemBuffers, it item, k K, v *V) []byte {
	start := len(b)
	b = binary.AppendUvarint(b, it.number)
	buf.key = m.opt.Codec.AppendKey(buf.key[:0], k)
	b = appendSized(b, 0, buf.key)
	if v == nil {
		b = append(b, 0)
	} else {
		buf.value = m.opt.Codec.AppendValue(buf.value[:0], *v)
		b = appendSized(b, 1, buf.value)
	}
	if b = appendSized(b, 0, it.note); len(b)-start <= maxItem {
		return b
	}
	m.drop(dropLong, m.opt.Bus.Self())
	return m.appendItem(b[:start], buf, item{number: it.number}, k, nil)
}

// appendSized appends data with its length, to which more is added, before it.
func appendSized(b []byte, more uint64, data []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(data))+more), data...)
}

// next takes an item off items. It is part of them.
func (it *item) next(items []byte) (rest []byte, err error) {
	number, n := binary.Uvarint(items)
	if n <= 0 || number == 0 {
		return nil, errMapForm
	}
	it.number, rest = number, items[n:]
	if it.key, _, rest, err = sized(rest, 0); err != nil {
		return nil, err
	}
	if it.value, it.removed, rest, err = sized(rest, 1); err != nil {
		return nil, err
	}
	it.note, _, rest, err = sized(rest, 0)
	return rest, err
}

// sized is the inverse of appendSized. none reports a length below more.
func sized(b []byte, more uint64) (data []byte, none bool, rest []byte, err error) {
	n, used := binary.Uvarint(b)
	if used <= 0 {
		return nil, false, nil, errMapForm
	}
	b = b[used:]
	if n < more {
		return nil, true, b, nil
	}
	if n -= more; n > uint64(len(b)) {
		return nil, false, nil, errMapForm
	}
	return b[:n], false, b[n:], nil
}
