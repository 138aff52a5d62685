// The forum's threads and posts, kept in memory: they are gone with the process. Their number is
// bounded.

export const MAX_AUTHOR = 40
export const MAX_TEXT = 2000
/** Past it the oldest reply makes room; the post that opened the thread stays. */
const MAX_POSTS = 100

const MINUTE = 60_000
const started = Date.now()

/** [title, topic, [author, minutes before the start, text] …] */
const CONTENT = [
  [
    'My bicycle bell rings by itself above 20 km/h',
    'Bicycles',
    [
      [
        'Ottilie',
        34,
        'It is an old brass bell with a spring-loaded hammer. On cobbles I would understand, ' +
          'but it does it on smooth asphalt too, always at the same speed.\n\nHas anyone had ' +
          'this?',
      ],
      [
        'Bram',
        29,
        'Resonance! At some speed the wheel turns exactly as fast as the hammer likes to ' +
          'swing. Is your front wheel out of balance? A reflector on the spokes is enough.',
      ],
      [
        'Ottilie',
        21,
        'There is a reflector. I moved it to the other side of the wheel, and now it rings at 24.',
      ],
      ['Yusuf', 8, 'A speedometer, then. Leave it.'],
    ],
  ],
  [
    'Sourdough in a cold kitchen: 14 °C all winter',
    'Bread',
    [
      [
        'Inés',
        190,
        'My starter sleeps from November to March. The recipe says four hours, and after ' +
          'nine nothing has happened. Do you warm the dough or wait longer?',
      ],
      [
        'Kwame',
        171,
        'Wait. Twice as long for every eight degrees less, and the bread is better for it. I ' +
          'mix in the evening and shape in the morning.',
      ],
      [
        'Marit',
        52,
        'The oven with only its light on is at 26 °C. Put a note on the door, though. I once ' +
          'preheated it.',
      ],
    ],
  ],
  [
    'What is the smallest thing you have mended?',
    'Repairs',
    [
      [
        'Yusuf',
        1500,
        'I will begin: the hinge of a pair of reading glasses, with a piece of a guitar string.',
      ],
      [
        'Hanneke',
        1420,
        'One key of a music box. The comb had lost a tooth, so I soldered on a new one, ' +
          'filed from a watch spring. It is a quarter tone flat.',
      ],
      ['Bram', 300, 'A single pixel, by pressing on it.'],
      [
        'Inés',
        47,
        'A zip, by mending one tooth with a drop of epoxy and a pin. It has held for two winters.',
      ],
      [
        'Pál',
        15,
        'A ladybird. Wet wings. I did nothing but hold out a dry finger, but I count it.',
      ],
    ],
  ],
  [
    'Lathe advice: belt drive or gears for a small shed?',
    'Machines',
    [
      [
        'Pál',
        2600,
        'The shed is two by three metres and the neighbours are close. I turn mostly brass ' +
          'and a little wood.',
      ],
      [
        'Hanneke',
        2480,
        'Belt. It is quiet, and when something catches, the belt slips instead of your wrist.',
      ],
    ],
  ],
  [
    'Counting birds at the feeder, each of them once',
    'Wondering',
    [
      [
        'Marit',
        4100,
        'Two of us watch from two windows and write tallies. In the evening the sums never ' +
          'agree, because some birds we both saw and some neither. How do people who count for ' +
          'a living do it?',
      ],
      [
        'Kwame',
        3900,
        'Each of you writes down the minute and the perch, not a tally. Then a bird is the ' +
          'same bird if minute and perch are the same. Add up once, at the end of the day.',
      ],
      [
        'Ottilie',
        3880,
        'And if one of the lists gets lost, ask the one who wrote it to read it out from ' +
          'memory. But strike out what was entered already!',
      ],
      ['Marit', 62, 'That works. 214 today, and for the first time we agree.'],
    ],
  ],
  [
    'The kettle that sings a perfect fifth',
    'Wondering',
    [
      [
        'Hanneke',
        5000,
        'Just before it boils it holds an A for a while and then steps up to an E. Every ' +
          'morning. I tune the viola to it.',
      ],
      ['Inés', 4700, 'Do not descale it.'],
    ],
  ],
]

const all = CONTENT.map(([title, topic, posts], index) => ({
  id: `${index + 1}-${title
    .toLowerCase()
    .replace(/[^a-z]+/g, '-')
    .replace(/^-|-$/g, '')}`,
  title,
  topic,
  posts: posts.map(([author, minutes, text], number) => ({
    number,
    author,
    text,
    at: new Date(started - minutes * MINUTE),
  })),
}))

/** All threads, the one with the newest post first. */
export function threads() {
  return all.toSorted((a, b) => b.posts.at(-1).at - a.posts.at(-1).at)
}

export function threadById(id) {
  return all.find((thread) => thread.id === id)
}

/** Adds a reply, whose sizes the caller has checked. */
export function addReply(thread, author, text) {
  const reply = {
    number: thread.posts.at(-1).number + 1,
    author,
    text: text.replace(/\r\n?/g, '\n'),
    at: new Date(),
  }
  thread.posts.push(reply)
  if (thread.posts.length > MAX_POSTS) thread.posts.splice(1, 1)
  return reply
}
