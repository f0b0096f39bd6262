"""Small notes, some of which are called by a single word, and questions of few words with the note that is right."""

# A line with the path, then the text; a line for each passage.
_NOTES = """
@ wiki/Invoice.md
How we number and send them: by mail, due in 30 days. Ask Okafor for the template.
@ wiki/Invoices.md
All papers that customers pay by go out on the first of the month.
@ wiki/PDF.md
A format by Adobe. Use qpdf to split and join files, ghostscript to shrink them.
@ wiki/Timeout.md
How long a client waits. Ours is 30 seconds everywhere, 5 in tests.
@ wiki/Kafka.md
A log of events. Three brokers, eu-west. The team of Priya runs it.
@ wiki/Postgres.md
Our database. Version 15, two replicas, backups at night.
@ wiki/Redis.md
Cache of sessions. One node, no persistence.
@ wiki/Docker.md
Images are built by CI and pushed to the registry.
@ wiki/Router.md
In the hall, above the shoes. Light should be green.
@ wiki/Printer.md
Laser, in the office on the second floor. Toner from Staples.
@ wiki/Passport.md
In the drawer of the desk, left. Valid until 2031.
@ wiki/Insurance.md
With Allianz: home, liability, car. Folder is blue.
@ wiki/Car.md
A grey Golf, bought in 2019. Winter tyres are in the cellar.
@ wiki/Garage.md
Rented from Mr Lindt, number 14, 60 euros a month.
@ wiki/Dentist.md
Dr. Weiss, Marktstrasse 3, by tram 5.
@ wiki/Lease.md
For the studio, ends in 2028, three months of notice.
@ wiki/Kiln.md
Rohm K-27, 450 litres. Fires at 1240 degrees.
@ wiki/Glaze.md
Celadon and tenmoku, mixed by hand. Sieve twice.
@ wiki/Deploy.md
Every Tuesday, from main. Say so in the channel first.
@ wiki/Login.md
Users come in by single sign-on. Passwords are gone since spring.
@ wiki/Backup.md
Every night to the NAS, every week off site.
@ wiki/Budget.md
Planned in November for the year after. Three columns.
@ wiki/Meeting.md
Rules: an agenda, a clock, somebody who writes.
@ wiki/Ticket.md
How we triage them. Two days to the first answer.
@ wiki/Order.md
Where to buy what, and who may sign for it.
@ wiki/Release.md
Branch, changelog, tag. In this order.
@ wiki/Error.md
What to do when one is seen: note the code, then look in the table.
@ people/Priya.md
Leads the platform team, from Pune. Likes climbing.
@ people/Jonas.md
Partner, looks after the money. Birthday in May.
@ people/Okafor.md
Accountant. Prefers to be called before ten.
@ people/Tomasz.md
Mover at Brückner, with a moustache.
@ people/张伟.md
大学同学，现在在杭州做律师。喜欢钓鱼。
@ people/李娜.md
设计师，周三休息。住在静安。
@ people/王芳.md
会计，每月五号对账。
@ wiki/合同.md
签字前先给法务看，一式两份，盖骑缝章。
@ wiki/发票.md
抬头写公司全称，月底统一寄出。
@ wiki/路由器.md
在客厅电视柜后面，绿灯表示正常。
@ wiki/数据库.md
两台从库，夜里备份，版本是十五。
@ wiki/护照.md
放在书桌左边的抽屉里，有效期到 2031 年。
@ wiki/保险.md
车险和家财险都在平安，蓝色文件夹。
@ wiki/装修.md
先水电，后瓦工，再木工。
@ wiki/会议.md
先写议程，后开会，有人记录。
@ wiki/体检.md
每年十月，空腹，在瑞金医院。
@ recipes/Tiramisu.md
Mascarpone, six eggs, coffee, savoiardi. Cold overnight.
@ recipes/Goulash.md
Beef, as many onions as meat, sweet paprika. Two hours.
@ recipes/Ratatouille.md
Aubergines, courgettes, peppers, tomatoes; each fried alone.
@ recipes/红烧肉.md
五花肉，冰糖，黄酒，小火一个半小时。
@ recipes/Lentil soup.md
Red lentils, cumin, lemon. Twenty minutes.
@ recipes/Bread.md
Rye and wheat, sourdough, 80 % water.
@ recipes/index.md
Every recipe has a note of its own here. A recipe lists what is needed, then the steps.
@ recipes/tools.md
A recipe in this folder assumes an oven, a blender and one good knife.
@ daily/2026-01-05.md
# Monday
Paid number 7781, the invoice of the electrician, 420 euros.
Lunch with Jonas about the loan.
Called the landlord: heating is out.
@ daily/2026-01-06.md
# Tuesday
The scanner now makes PDF files of all invoices, in the folder Scans.
Walked to the lake.
@ daily/2026-01-07.md
# Wednesday
ERR-4711 again: a timeout after the update of the gateway.
Bread was too dark.
@ daily/2026-01-08.md
# Thursday
Set the retention of Kafka to seven days, since the disk was full.
Priya is on leave until the 20th.
@ daily/2026-01-09.md
# Friday
Postgres was slow: a vacuum of the table events took two hours.
Redis was evicting keys, so maxmemory is 4 GB now.
@ daily/2026-01-12.md
# Monday
The router has the password maple-77-otter since today.
Toner for the printer: order number TN-2420.
@ daily/2026-01-13.md
# Tuesday
Docker pulled the image with the tag 3.9.2-slim, which broke locale.
New lease signed by Jonas.
@ daily/2026-01-14.md
# Wednesday
Insurance claim 55-0192 for the car: a scratch at the left door.
The garage wants 380 euros for the door.
@ daily/2026-01-15.md
# Thursday
Dentist moved my appointment to 3 March, 9:30.
The tiramisu of Aunt Rosa: she gave me her recipe at last.
@ daily/2026-01-16.md
# Friday
Firing 27 of the kiln stopped with E_TC_OPEN: the thermocouple is broken.
A glaze with cobalt ran on all bowls.
@ daily/2026-01-19.md
# Monday
The deploy was rolled back: migration 0042 locked the users table.
Login loops in Safari, see the cookie flag.
@ daily/2026-01-20.md
# Tuesday
The backup failed with disk quota exceeded on the NAS.
Budget for marketing cut by 15 %.
@ daily/2026-01-21.md
# Wednesday
Ticket 90210: the customer Hagen wants his data deleted.
Meeting with Hagen on the 28th.
@ daily/2026-01-22.md
# Thursday
Order BR-0411-77 is with Tomasz, who comes at eight.
Release 2.4.0 waits for the translation into Polish.
@ daily/2026-01-23.md
# Friday
Priya asked for a budget for two more brokers.
Jonas has the keys of the garage.
Okafor needs the receipts by Friday.
@ daily/2026-02-02.md
# 周一
张伟看过合同了，说第七条要改。
晚上和李娜吃火锅。
@ daily/2026-02-03.md
# 周二
发票号码 20260118 开错了抬头，请王芳重开。
买了两袋米。
@ daily/2026-02-04.md
# 周三
路由器的密码换成 maple77。
装修的预算超了三万。
@ daily/2026-02-05.md
# 周四
数据库报错 1205，死锁，重启解决。
护照要续签，下周去出入境。
@ daily/2026-02-06.md
# 周五
保险理赔材料寄出去了。
李娜发来海报的初稿。
会议改到三楼。
@ daily/2026-02-09.md
# 周一
体检报告出来了，血脂偏高。
王芳请假，报销推迟。
红烧肉做法问了妈妈，要先焯水。
@ archive/Invoices 2026.md
7790 Brandt 86 euros
7791 Rohm 1200 euros
7792 Staples 40 euros
@ archive/Error codes.md
E_AUTH_09 means that the token is too old.
E_DISK_03 means that the disk is full.
@ archive/Kafka runbook.md
## Rebalance
Stop the consumers first, one at a time.
## Upgrade
Broker by broker, controller last.
@ archive/Postgres tuning.md
work_mem to 64 MB, shared_buffers to a quarter of memory.
autovacuum every minute.
@ archive/合同清单.md
HT-2026-031 场地租赁，到期 2028 年。
HT-2026-044 设备采购，三台。
@ archive/客户名单.md
哈根公司，联系人施密特。
远航贸易，联系人陈晨。
@ archive/Garage door.md
The remote has a battery CR2032. The code is set under the lid.
@ daily/2026-02-10.md
# 周二
下雨，没出门。看完了一本小说。
@ daily/2026-02-11.md
Sent an invoice to Hagen. Sent another invoice to Brandt.
@ daily/2026-02-12.md
A PDF from the bank, again without text. Timeout of the scanner.
@ daily/2026-02-13.md
Kafka is up. Postgres is up. Docker is up. A long walk with Priya.
@ daily/2026-02-16.md
和张伟钓鱼，天气很好，钓到三条。
@ daily/2026-02-17.md
Password of the wifi at the dentist: smile. The car is at the garage.
@ daily/2026-02-18.md
发票寄出。路由器重启过一次。
"""

NOTES = {
    path: "\n\n".join(lines) for path, *lines in (part.splitlines() for part in _NOTES.lstrip("\n@ ").split("\n@ "))
}

# A passage has all words, and other notes are called like one of them.
IN_ONE_PASSAGE = [
    ("invoice 7781", "daily/2026-01-05.md"),
    ("PDF invoices", "daily/2026-01-06.md"),
    ("ERR-4711 timeout", "daily/2026-01-07.md"),
    ("Kafka retention", "daily/2026-01-08.md"),
    ("Postgres vacuum", "daily/2026-01-09.md"),
    ("Redis maxmemory", "daily/2026-01-09.md"),
    ("Redis evicting keys", "daily/2026-01-09.md"),
    ("router password", "daily/2026-01-12.md"),
    ("printer TN-2420", "daily/2026-01-12.md"),
    ("Docker 3.9.2-slim", "daily/2026-01-13.md"),
    ("docker locale", "daily/2026-01-13.md"),
    ("lease Jonas", "daily/2026-01-13.md"),
    ("insurance 55-0192", "daily/2026-01-14.md"),
    ("car insurance claim", "daily/2026-01-14.md"),
    ("dentist appointment", "daily/2026-01-15.md"),
    ("kiln E_TC_OPEN", "daily/2026-01-16.md"),
    ("kiln thermocouple", "daily/2026-01-16.md"),
    ("glaze cobalt", "daily/2026-01-16.md"),
    ("deploy 0042", "daily/2026-01-19.md"),
    ("deploy rolled back", "daily/2026-01-19.md"),
    ("login Safari", "daily/2026-01-19.md"),
    ("backup quota", "daily/2026-01-20.md"),
    ("marketing budget", "daily/2026-01-20.md"),
    ("ticket 90210", "daily/2026-01-21.md"),
    ("meeting Hagen", "daily/2026-01-21.md"),
    ("order BR-0411-77", "daily/2026-01-22.md"),
    ("Tomasz BR-0411-77", "daily/2026-01-22.md"),
    ("release 2.4.0", "daily/2026-01-22.md"),
    ("release Polish", "daily/2026-01-22.md"),
    ("Priya budget brokers", "daily/2026-01-23.md"),
    ("Jonas keys", "daily/2026-01-23.md"),
    ("Okafor receipts", "daily/2026-01-23.md"),
    ("Jonas loan", "daily/2026-01-05.md"),
    ("张伟 合同", "daily/2026-02-02.md"),
    ("张伟 第七条", "daily/2026-02-02.md"),
    ("发票 20260118", "daily/2026-02-03.md"),
    ("装修 预算", "daily/2026-02-04.md"),
    ("数据库死锁", "daily/2026-02-05.md"),
    ("护照续签", "daily/2026-02-05.md"),
    ("保险理赔", "daily/2026-02-06.md"),
    ("李娜 海报", "daily/2026-02-06.md"),
    ("会议 三楼", "daily/2026-02-06.md"),
    ("体检报告", "daily/2026-02-09.md"),
    ("王芳 报销", "daily/2026-02-09.md"),
    ("张伟的合同", "daily/2026-02-02.md"),
    ("发票抬头 王芳", "daily/2026-02-03.md"),
]

# The note's title has one word, its passage the others.
TITLE_AND_PASSAGE = [
    ("invoices 7791", "archive/Invoices 2026.md"),
    ("invoice 7792 Staples", "archive/Invoices 2026.md"),
    ("error E_AUTH_09", "archive/Error codes.md"),
    ("kafka rebalance", "archive/Kafka runbook.md"),
    ("kafka upgrade", "archive/Kafka runbook.md"),
    ("postgres work_mem", "archive/Postgres tuning.md"),
    ("postgres autovacuum", "archive/Postgres tuning.md"),
    ("合同 HT-2026-031", "archive/合同清单.md"),
    ("客户 陈晨", "archive/客户名单.md"),
    ("garage door battery", "archive/Garage door.md"),
    ("garage CR2032", "archive/Garage door.md"),
]

# The note that is called so, or like most of it, is wanted.
CALLED_SO = [
    ("goulash recipe", "recipes/Goulash.md"),
    ("recipe ratatouille", "recipes/Ratatouille.md"),
    ("红烧肉", "recipes/红烧肉.md"),
    ("红烧肉做法", "recipes/红烧肉.md"),
    ("lentil soup", "recipes/Lentil soup.md"),
    ("bread recipe", "recipes/Bread.md"),
    ("invoice", "wiki/Invoice.md"),
    ("Kafka", "wiki/Kafka.md"),
    ("kafka brokers", "wiki/Kafka.md"),
    ("kafka team", "wiki/Kafka.md"),
    ("postgres replicas", "wiki/Postgres.md"),
    ("Priya", "people/Priya.md"),
    ("Priya climbing", "people/Priya.md"),
    ("Jonas birthday", "people/Jonas.md"),
    ("Okafor accountant", "people/Okafor.md"),
    ("张伟", "people/张伟.md"),
    ("张伟 律师", "people/张伟.md"),
    ("李娜 设计师", "people/李娜.md"),
    ("合同", "wiki/合同.md"),
    ("发票 抬头", "wiki/发票.md"),
    ("护照 抽屉", "wiki/护照.md"),
    ("passport drawer", "wiki/Passport.md"),
    ("garage rent", "wiki/Garage.md"),
    ("garage door", "archive/Garage door.md"),
    ("kiln degrees", "wiki/Kiln.md"),
    ("who is Priya", "people/Priya.md"),
    ("dentist tram", "wiki/Dentist.md"),
    ("kafka runbook", "archive/Kafka runbook.md"),
    ("error codes", "archive/Error codes.md"),
    ("合同清单", "archive/合同清单.md"),
    ("router light", "wiki/Router.md"),
    ("printer toner", "wiki/Printer.md"),
    ("what is kafka", "wiki/Kafka.md"),
    ("路由器在哪里", "wiki/路由器.md"),
    ("体检 医院", "wiki/体检.md"),
    ("tyres car", "wiki/Car.md"),
    ("invoice template", "wiki/Invoice.md"),
    ("保险 平安", "wiki/保险.md"),
]

# The right note comes second: the other one is called by what tells most, or has all words in passing.
SECOND = [
    ("路由器 密码", "daily/2026-02-04.md"),
    ("数据库 1205", "daily/2026-02-05.md"),
    ("合同 设备采购", "archive/合同清单.md"),
    ("tiramisu recipe", "recipes/Tiramisu.md"),
]
