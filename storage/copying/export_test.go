package copying

import (
	"context"

	"github.com/respawnd/respawnd/storage/engine"
)

// Digests returns the contents of tables. opt says which tables, and which of their entries
// are damaged and left out.
func Digests(ctx context.Context, e engine.Engine, opt Options) (all []TableResult, err error) {
	for _, t := range opt.Tables {
		r, err := digest(ctx, e, t, &opt)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}
