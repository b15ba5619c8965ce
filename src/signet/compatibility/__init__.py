"""Compatibility: which changes of a contract break clients, each shown by a value that breaks. Pure.

contract_set                   two sets of tools → findings
  └─▶ verdict                  two schemas → compatible or breaking
        ├─▶ open_objects       how an object is read that has no rule for undeclared properties
        └─▶ counterexample     a value that one schema admits and the other rejects
              └─▶ values ─▶ scalars    candidates made from the schemas
satisfaction                   a schema → a value that keeps it, or a proof that none can
"""
