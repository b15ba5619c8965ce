// Diagrams to begin with, a few of each kind.

const uml = (body) => `@startuml\n${body.trim()}\n@enduml\n`;
const other = (kind, body) => `@start${kind}\n${body.trim()}\n@end${kind}\n`;

/** The examples: [group, [[name, text], …]]. */
export const EXAMPLES = [
  ["Who talks to whom", [
    ["Sequence", uml(`
title A person signs in
actor Person
participant "Web page" as Page
participant Server
database Accounts

Person -> Page: name and password
Page -> Server ++: POST /login
Server -> Accounts: find the account
Accounts --> Server: account
alt the password is right
  Server --> Page: a token
  Page -> Person: welcome
else it is wrong
  Server --> Page --: 401
  Page -> Person: try again
end`)],
    ["Sequence with notes", uml(`
autonumber
participant Client
participant Queue
participant Worker
Client -> Queue: order
note right of Queue: It is kept on disk\\nuntil it is done
loop until the queue is empty
  Worker -> Queue: next order
  Queue --> Worker: order
  Worker -> Worker: work
end
Worker --> Client: done`)],
    ["Timing", uml(`
robust "Lamp" as L
concise "Person" as P
@0
P is away
L is off
@40
P is home
L is on
@90
P is asleep
L is dim
@120
L is off`)],
  ]],
  ["What there is", [
    ["Class", uml(`
title A library
abstract class Medium {
  +title: String
  +lend(to: Reader): Loan
}
class Book {
  +pages: Integer
}
class Film {
  +minutes: Integer
}
class Reader {
  +name: String
}
class Loan {
  +due: Date
  +isOver(): Boolean
}
Medium <|-- Book
Medium <|-- Film
Reader "1" --> "*" Loan: has
Loan "*" --> "1" Medium: of`)],
    ["Entities", uml(`
entity Customer {
  * id: number
  --
  name: text
}
entity Order {
  * id: number
  --
  * customer: number
  placed: date
}
entity Item {
  * order: number
  * product: text
  --
  count: number
}
Customer ||--o{ Order
Order ||--|{ Item`)],
    ["Objects", uml(`
object Tokyo {
  population = 14000000
}
object Japan {
  capital = "Tokyo"
}
map Distances {
  Osaka => 400 km
  Sapporo => 830 km
}
Japan --> Tokyo
Tokyo --> Distances`)],
    ["Components", uml(`
package "In this machine" {
  [Agent]
  [Signet]
}
cloud "Elsewhere" {
  [Bank of Japan] as BoJ
}
database Journal
[Agent] --> [Signet]: MCP
[Signet] --> BoJ: HTTPS
[Signet] --> Journal`)],
    ["Use cases", uml(`
left to right direction
actor Reader
actor Librarian
rectangle Library {
  Reader --> (Borrow a book)
  Reader --> (Return a book)
  (Return a book) <-- Librarian
  (Borrow a book) ..> (Check the card): include
}`)],
  ]],
  ["What happens", [
    ["Activity", uml(`
start
:read the arguments;
if (do they keep the contract?) then (yes)
  :call the tool;
  if (does the result?) then (yes)
    :answer;
  else (no)
    #pink:report a bug;
  endif
else (no)
  #pink:say which field is wrong;
endif
stop`)],
    ["States", uml(`
[*] --> Idle
Idle --> Running: start
Running --> Paused: pause
Paused --> Running: resume
Running --> Idle: stop
state Running {
  [*] --> Reading
  Reading --> Writing
  Writing --> Reading
}`)],
    ["Gantt", other("gantt", `
Project starts 2026-04-01
[Design] requires 10 days
[Build] requires 20 days
[Build] starts at [Design]'s end
[Test] requires 8 days
[Test] starts 12 days after [Build]'s start
[Release] happens at [Test]'s end`)],
  ]],
  ["How it is ordered", [
    ["Mind map", other("mindmap", `
* Signet
** Doors
*** MCP
*** REST
*** Envelope
** Tools
*** Judge
*** Statistics
*** Diagrams
left side
** Journal
** Contracts`)],
    ["Work breakdown", other("wbs", `
* Release
** Code
*** Kernel
*** Doors
** Tests
*** Contracts
*** Browser
** Documents`)],
    ["JSON", other("json", `
{
  "name": "signet",
  "doors": ["mcp", "rest", "envelope"],
  "limits": {"calls": 1024, "seconds": 50},
  "public": null
}`)],
    ["YAML", other("yaml", `
name: signet
doors:
  - mcp
  - rest
limits:
  calls: 1024
  seconds: 50`)],
  ]],
];
