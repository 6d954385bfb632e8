package commands

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func (p *program) sakeCommand() *cobra.Command {
	return group("sake", "Show and delete the records that games store", p.sakeTables(), p.sakeShow(), p.sakeDelete())
}

func (p *program) sakeTables() *cobra.Command {
	return p.listCommand("tables GAME", "Show the tables of a game", cobra.ExactArgs(1),
		func(ctx context.Context, op operator.Operator, args []string) error {
			list, err := op.SakeTables(ctx, args[0])
			if err != nil {
				return err
			}
			return show(p, "table…\trecords\tbytes\tfields…", list, func(t storage.SakeTable) []string {
				names := make([]string, len(t.Columns))
				for i, c := range t.Columns {
					names[i] = c.Name
				}
				return []string{t.Name, strconv.Itoa(t.Records), strconv.FormatInt(t.Bytes, 10), dash(strings.Join(names, " "))}
			})
		})
}

func (p *program) sakeShow() *cobra.Command {
	var owner uint32
	var limit int
	cmd := p.listCommand("show GAME TABLE", "Show records of a table", cobra.ExactArgs(2),
		func(ctx context.Context, op operator.Operator, args []string) error {
			q := operator.SakeQuery{Game: args[0], Table: args[1], Owner: storage.ProfileID(owner)}
			var all []storage.SakeRecord
			for left := limit; left > 0; left = limit - len(all) {
				q.Limit = min(left, operator.MaxSakeListed)
				page, err := op.SakeRecords(ctx, q)
				if err != nil {
					return err
				}
				all = append(all, page...)
				if len(page) < q.Limit {
					break
				}
				q.After = page[len(page)-1].ID
			}
			return show(p, "id\towner\tchanged\tfields", all, func(r storage.SakeRecord) []string {
				return []string{strconv.FormatUint(uint64(r.ID), 10), strconv.FormatUint(uint64(r.Owner), 10), stamp(r.Changed), dash(sakeFields(r))}
			})
		})
	cmd.Flags().Uint32Var(&owner, "owner", 0, "only of the profile with this id")
	cmd.Flags().IntVar(&limit, "limit", operator.MaxSakeListed, "number of records")
	return cmd
}

// maxSakeText is how many characters of the name and of the value of a field are shown.
const maxSakeText = 60

// sakeFields returns the fields of a record in one line.
func sakeFields(r storage.SakeRecord) string {
	all := make([]string, len(r.Fields))
	for i, f := range r.Fields {
		all[i] = clean.Shorten(f.Name, maxSakeText+1) + "=" + clean.Shorten(f.Value.String(), maxSakeText+1)
	}
	return strings.Join(all, " ")
}

func (p *program) sakeDelete() *cobra.Command {
	return p.operatorCommand("delete GAME TABLE [ID]", "Delete a record, or a table with all its records", cobra.RangeArgs(2, 3),
		func(ctx context.Context, op operator.Operator, args []string) error {
			t := operator.SakeTarget{Game: args[0], Table: args[1]}
			if len(args) == 3 {
				id, err := strconv.ParseUint(args[2], 10, 31)
				if err != nil || id == 0 {
					return usageError{fmt.Errorf("%q is not the id of a record: `respawnd sake show GAME TABLE` shows them", args[2])}
				}
				t.ID = uint32(id)
			}
			n, err := op.DeleteSake(ctx, t)
			return p.confirm(err, "deleted %s of table %s of %s", counted(n, "record"), t.Table, t.Game)
		})
}
